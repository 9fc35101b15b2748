"""The waterfall for every optimizer that rows are of."""

import dataclasses

import pandas as pd
import pytest
import synthetic
from vramfit_plots.figures import style
from vramfit_plots.files import AbsentError
from vramfit_plots.sources import MEASURED, PREDICTED, TORCH, TORCH_MEASURED
from vramfit_plots.topics import waterfall_optimizers
from vramfit_plots.topics.waterfall_optimizers import load_optimizers
from vramfit_plots.units import MISSING, gb

ROW = "Training/llama2-7b/bf16/{}/batch:4/seq:512"


def by_optimizer(inputs):
    return {own[0].optimizer: own for own in load_optimizers(inputs).by_optimizer}


def test_every_optimizer_of_the_sweep_has_its_waterfall(inputs):
    found = by_optimizer(inputs)
    assert found.keys() == synthetic.STATES.keys()
    true = inputs.models["llama2-7b"].parameters
    for optimizer, (ours, *_) in found.items():
        assert ours.states_per_parameter == synthetic.STATES[optimizer]
        assert ours.allocated == inputs.value(ROW.format(optimizer), "pred_allocated")
        assert ours.after("optimizer") == (4 + synthetic.STATES[optimizer]) * true
    states = [own[0].states_per_parameter for own in load_optimizers(inputs).by_optimizer]
    assert states == sorted(states)


def test_one_that_bench_gains_is_in_table_and_picture(inputs):
    """adafactor, say: no list in the code has to name it."""
    rows = inputs.rows.copy()
    rows.loc[ROW.format("adafactor")] = rows.loc[ROW.format("sgd")]
    more = dataclasses.replace(inputs, rows=rows)
    (table,) = waterfall_optimizers.build(more)
    assert ["adafactor", "vramfit predicted"] in [row[:2] for row in table.rows]
    assert "adafactor, vramfit predicted: peak" in waterfall_optimizers.draw(more).alt


def test_what_is_in_the_hosts_memory_has_a_column_where_there_is_some(inputs):
    (table,) = waterfall_optimizers.build(inputs)
    place = table.headings.index("in host\nmemory")
    own = {row[0]: row[place] for row in table.rows if row[1].startswith("vramfit")}
    host = inputs.need(ROW.format("adamw-cpu"), "pred_host")
    assert own.pop("adamw-cpu") == gb(host)
    assert set(own.values()) == {MISSING}
    with style.styled():
        picture = waterfall_optimizers.draw(inputs)
    titles = [axes.get_title(loc="left") for axes in picture.figure.axes]
    assert f"adamw-cpu, {gb(host)} GB on host" in titles
    rows = inputs.rows.drop(ROW.format("adamw-cpu"))
    (table,) = waterfall_optimizers.build(dataclasses.replace(inputs, rows=rows))
    assert "in host\nmemory" not in table.headings


def test_each_side_is_what_was_measured_where_it_was(inputs, measured):
    ours, theirs = by_optimizer(inputs)["adamw"]
    assert (ours.source, theirs.source) == (PREDICTED, TORCH_MEASURED)
    assert by_optimizer(measured)["adamw"][0].source is MEASURED
    assert by_optimizer(inputs)["adamw-master"][1].source is TORCH, "nobody measured it"


def test_the_table_says_whose_optimizer_stands_beside_and_how_fast_it_is(measured):
    (table,) = waterfall_optimizers.build(measured)
    by_head = {tuple(row[:2]): row for row in table.rows}
    theirs = by_head["adamw-same", "PyTorch measured\nadamw-fused"]
    assert theirs[-1] == MISSING
    ours = by_head["adamw-same", "vramfit measured"]
    assert ours[-1] == f"{synthetic.TOKENS_PER_SECOND['none']:,.0f}"
    peak = ours[table.headings.index("peak of all steps")]
    assert peak == gb(measured.need(ROW.format("adamw-same"), "mem_allocated"))


def test_the_precision_with_most_optimizers_is_shown(inputs):
    """BF16, as vramfit's 8-bit states and lion are measured there; FP16 where it has more."""
    assert load_optimizers(inputs).precision == "bf16"
    fewer = inputs.rows[~inputs.rows.index.str.startswith("Training/llama2-7b/bf16/")]
    found = load_optimizers(dataclasses.replace(inputs, rows=fewer))
    assert found.precision == "fp16"
    assert "/fp16/" in found.pattern


def test_a_panel_has_both_sides_bars_and_their_peaks(inputs):
    with style.styled():
        picture = waterfall_optimizers.draw(inputs)
    panels = [axes for axes in picture.figure.axes if axes.get_visible()]
    titles = [axes.get_title(loc="left") for axes in panels]
    adam = panels[titles.index("adamw, 8 B/param")]
    peaks = [waterfall.allocated for waterfall in by_optimizer(inputs)["adamw"]]
    assert [text.get_text() for text in adam.texts] == [gb(peak) for peak in peaks]
    ours = [patch.get_height() for patch in adam.patches][:6]
    assert max(ours) == pytest.approx(peaks[0] / 1e9)


def test_pytorchs_alone_are_no_waterfall(poor):
    with pytest.raises(AbsentError, match="llama2-7b"):
        load_optimizers(poor)


def test_pytorchs_optimizers_are_those_of_the_newer_predictions(tmp_path, taken):
    """A measured run of before an optimizer had a counterpart does not hide it."""
    old = synthetic.document(measured=True)
    new = synthetic.document()
    new["context"]["pytorch_optimizers"] += ", adamw-8bit: adamw-8bit"
    found = taken(
        *("--run", str(synthetic.write(tmp_path / "new.json", new))),
        *("--measured", str(synthetic.write(tmp_path / "old.json", old))),
    )
    measured = found.value(ROW.format("adamw-8bit"), "pytorch_measured_allocated")
    assert measured is not None
    assert pd.notna(measured)
