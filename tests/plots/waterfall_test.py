"""The waterfall, what each stage changes of it, and where it deviates."""

from dataclasses import replace

import pytest
from table_rows import by_head, heads
from vramfit_plots.sources import ARTICLE, PREDICTED, TORCH_MEASURED
from vramfit_plots.topics import waterfall
from vramfit_plots.units import MISSING, gb


def change(inputs, stage, source) -> tuple[float, str]:
    """Of the article's own table: the figure and the words of a stage's change."""
    table = waterfall.build(replace(inputs, source=source))[0]
    figure, words = by_head(table, stage)["component"].split(" ", 1)
    return float(figure.replace("\N{MINUS SIGN}", "-")), words


def test_the_waterfalls_changes_add_up_to_its_memory(inputs):
    rows = waterfall.build(replace(inputs, source=PREDICTED))[0].rows
    total = 0.0
    for stage, memory, _ in rows:
        total += change(inputs, stage, PREDICTED)[0]
        assert total == pytest.approx(float(memory), abs=0.2)


def test_a_change_is_in_the_articles_words_with_the_sources_figure(inputs):
    assert change(inputs, "after forward", PREDICTED)[1] == "activations"
    assert change(inputs, "after backward", PREDICTED)[1] == "gradients, activations freed"
    assert change(inputs, "after optimizer", PREDICTED)[1] == "Adam m and v in FP32"


def test_states_are_of_the_type_that_they_are_kept_in(inputs):
    """PyTorch's AdamW keeps them in 16 bits."""
    assert change(inputs, "after optimizer", TORCH_MEASURED)[1] == "Adam m and v in FP16"


def test_the_waterfall_by_source_also_has_the_peak_of_all_steps(inputs):
    plain, table = waterfall.build(inputs)[:2]
    name = "Training/llama2-7b/fp16/adamw/batch:4/seq:512"
    row = by_head(table, waterfall.PEAK)
    assert row[PREDICTED.heading] == gb(inputs.value(name, "pred_allocated"))
    assert row[ARTICLE.heading] == MISSING
    assert "backward of step 2" in table.note
    assert waterfall.PEAK not in heads(plain)


def test_both_steps_are_there_and_loading_once(inputs):
    table = next(t for t in waterfall.build(inputs) if t.key == "table2_steps")
    assert sum("model loaded" in row[0] for row in table.rows) == 2
    assert sum("backward" in row[0] for row in table.rows) == 4


def test_deviations_show_count_and_rest(inputs):
    """The synthetic 12 B/param after the optimizer step deviate by the count alone."""
    table = next(t for t in waterfall.build(inputs) if t.key == "table2_deviations")
    row = dict(zip(table.headings, table.rows[heads(table).index("after optimizer")], strict=True))
    true = inputs.models["llama2-7b"].parameters
    assert row["article\nGB, B/param"] == "84.00\n12.00"
    assert row["vramfit predicted\nGB, B/param"] == f"{gb(12 * true, 2)}\n12.00"
    assert row["deviation\nGB, %"] == row["by the count"]
    assert row["the rest"].startswith("0.00")
