"""Training adapters by what the base is stored in."""

import dataclasses

import pytest
import synthetic
from vramfit_plots.figures import style
from vramfit_plots.files import AbsentError
from vramfit_plots.sources import MEASURED, PREDICTED, TORCH, TORCH_MEASURED
from vramfit_plots.topics import lora
from vramfit_plots.topics.lora import adapters, load_lora
from vramfit_plots.units import MISSING, gb

ROW = "Training/llama2-7b/{}/adamw/batch:4/seq:512/lora:16"


def by_row(inputs):
    return {own[0].row: own for own in load_lora(inputs).cases}


def test_every_base_and_way_of_the_sweep_is_a_case(inputs):
    found = by_row(inputs)
    ours = {row for row, own in found.items() if own[0].source is PREDICTED}
    assert ours == {
        name for name in inputs.run.rows.index if "/lora:16" in name and "batch:4" in name
    }
    assert {"bf16", "fp16", "fp8", "int8", "nf4"} == {found[row][0].base for row in ours}
    assert not any("/batch:8" in row for row in found), "data/reference has one"


def test_a_base_stands_together_and_the_heaviest_first(inputs):
    bases = [own[0].base for own in load_lora(inputs).cases]
    grouped = list(dict.fromkeys(bases))
    assert bases == [base for base in grouped for _ in range(bases.count(base))]
    assert grouped.index("bf16") < grouped.index("int8") < grouped.index("nf4")
    ways = [own[0].checkpointing for own in load_lora(inputs).cases if own[0].base == "int8"]
    assert ways == ["none", "selective", "full"]


def test_pytorchs_are_what_data_reference_measured(inputs):
    found = by_row(inputs)
    speeds = {
        base: next(
            one.tokens_per_second for one in found[ROW.format(base)] if one.source is TORCH_MEASURED
        )
        for base in ("bf16", "nf4-dq", "int8")
    }
    assert speeds == pytest.approx({"bf16": 13525, "nf4-dq": 8049, "int8": 2214}, abs=1)
    bf16 = found[ROW.format("bf16")][1]
    assert bf16.adapters == 8_388_608
    assert bf16.states == pytest.approx(8_388_608 * 12, rel=1e-3), "FP32: a gradient, m and v"
    assert found[ROW.format("nf4")][1].source is TORCH, "nobody measured it"


def test_each_side_is_what_was_measured_where_it_was(inputs, measured):
    row = ROW.format("int8")
    trained = inputs.value(row, "params_trained")
    one = by_row(inputs)[row][0]
    assert (one.source, one.tokens_per_second, one.adapters) == (PREDICTED, None, trained)
    assert one.states == trained * (2 + synthetic.STATES["adamw"])
    of_gpu = by_row(measured)[row][0]
    assert of_gpu.source is MEASURED
    assert of_gpu.tokens_per_second == synthetic.TOKENS_PER_SECOND["none"]


def test_the_table_has_a_dash_where_nobody_timed(inputs, measured):
    (table,) = lora.build(inputs)
    for row in table.rows:
        assert (row[-1] == MISSING) == (row[2] != TORCH_MEASURED.heading), row
    (table,) = lora.build(measured)
    ours = [row[-1] for row in table.rows if row[2] == MEASURED.heading]
    assert ours
    assert MISSING not in ours
    assert ["bf16\nall-linear", "none"] in [row[:2] for row in table.rows]


def test_the_picture_has_weights_within_each_peak(measured):
    with style.styled():
        picture = lora.draw(measured)
    memory, speed = picture.figure.axes
    assert memory.get_title(loc="left").startswith("Weights")
    one = by_row(measured)[ROW.format("int8")][0]
    widths = [patch.get_width() for patch in memory.patches]
    assert pytest.approx(one.allocated / 1e9) in widths
    assert pytest.approx(one.parameters / 1e9) in widths
    assert gb(one.allocated) in {text.get_text() for text in memory.texts}
    assert "12,000" in {text.get_text() for text in speed.texts}
    names = [label.get_text() for label in memory.get_yticklabels()]
    assert "int8, selective" in names
    assert "fp16" not in names


def test_without_times_the_picture_has_memory_alone(inputs):
    rows = inputs.rows.drop(columns=["pytorch_measured_tokens_per_second"])
    picture = lora.draw(dataclasses.replace(inputs, rows=rows))
    assert len(picture.figure.axes) == 1


def test_nothing_of_lora_is_no_chapter(inputs):
    rows = inputs.rows[~inputs.rows.index.str.contains("lora:")]
    bare = dataclasses.replace(inputs, rows=rows)
    for make in (lora.build, lora.draw):
        with pytest.raises(AbsentError, match="lora:16"):
            make(bare)


def test_adapters_are_in_words(inputs):
    assert adapters(inputs, ROW.format("bf16")) == "rank 16 on q_proj and v_proj"
    assert adapters(inputs, ROW.format("bf16") + "/targets:all-linear") == "rank 16 on all-linear"
