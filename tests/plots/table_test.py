import dataclasses
import re
from html.parser import HTMLParser

import pytest
from vramfit_plots.sources import ARTICLE, MEASURED, PREDICTED, TORCH, TORCH_MEASURED
from vramfit_plots.tables import claims, inference, multi_gpu, oom_cliff, sweep, waterfall
from vramfit_plots.tables.table import html_fragment, markdown_fragment
from vramfit_plots.units import MISSING, NOT_YET, gb

BUILDERS = {
    "inference": inference.build,
    "waterfall": waterfall.build,
    "oom_cliff": oom_cliff.build,
    "multi_gpu": multi_gpu.build,
}


class Cells(HTMLParser):
    """The texts of a table's cells, row by row."""

    def __init__(self, html: str):
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
            self.inside = True
        elif tag == "br" and self.inside:
            self.rows[-1][-1] += "\n"

    def handle_endtag(self, tag):
        if tag in {"td", "th"}:
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data


def first(inputs, name):
    return BUILDERS[name](inputs)[0]


def heads(table):
    return [re.split(r"\n", row[0])[0] for row in table.rows]


@pytest.mark.parametrize("name", BUILDERS)
def test_fragments_have_the_articles_headings_and_row_order(inputs, name):
    article = getattr(inputs.article, name)
    rows = Cells(html_fragment(first(inputs, name))).rows
    columns = article["columns"]
    assert rows[0][: len(columns)] == columns
    markdown = markdown_fragment(first(inputs, name)).splitlines()
    assert markdown[0].strip("| ").split(" | ")[: len(columns)] == columns

    key = {"inference": "precision", "waterfall": "label", "oom_cliff": "vram"}.get(
        name, "strategy"
    )
    theirs = [row[key] for row in article["rows"]]
    assert [row[0].split("\n")[0] for row in rows[1:]][: len(theirs)] == theirs


def test_only_table_3_has_columns_of_ours(inputs):
    for name in ("inference", "waterfall", "multi_gpu"):
        assert first(inputs, name).headings == getattr(inputs.article, name)["columns"]
    extra = [column["heading"] for column in inputs.article.oom_cliff["extra_columns"]]
    assert extra
    assert first(inputs, "oom_cliff").headings == inputs.article.oom_cliff["columns"] + extra


@pytest.mark.parametrize("name", BUILDERS)
def test_every_row_is_as_long_as_the_headings(inputs, measured, name):
    for source in (inputs, measured):
        for table in BUILDERS[name](source):
            assert {len(row) for row in table.rows} == {len(table.headings)}, table.key


def test_table_1_sets_article_prediction_and_pytorch_side_by_side(inputs):
    table = first(inputs, "inference")
    row = Cells(html_fragment(table)).rows[heads(table).index("FP16") + 1]
    name = "Inference/llama2-7b/fp16/batch:8/seq:2048"
    ours, torch, measured = (
        gb(inputs.value(name, f"{prefix}_allocated"))
        for prefix in ("pred", "pytorch", "pytorch_measured")
    )
    assert row[3] == f"22.2 | {ours} | {torch} | {measured}"
    legend = "Each cell: article | predicted | PyTorch predicted | PyTorch measured."
    assert legend in html_fragment(table)


def test_a_measured_column_appears_with_a_measured_run(inputs, measured):
    assert MEASURED not in first(inputs, "inference").sources
    ours = [ARTICLE, PREDICTED, MEASURED, TORCH]
    assert first(measured, "inference").sources == [*ours, TORCH_MEASURED]
    assert first(measured, "waterfall").sources == ours
    deviations = inference.build(measured)[1]
    assert "measured against predicted" in deviations.headings


@pytest.mark.parametrize("name", ["inference", "oom_cliff", "multi_gpu"])
def test_what_is_not_built_says_so_and_shows_no_formula(inputs, name):
    """Even where a run holds formula counters for a row of that name."""
    article = getattr(inputs.article, name)
    needing = [
        (i, j)
        for i, row in enumerate(article["rows"])
        for j, cell in enumerate(row.get("points") or row["cells"])
        if "needs" in cell
    ]
    assert needing
    offset = 2 if name == "inference" else 1
    table = first(inputs, name)
    for i, j in needing:
        cell = table.rows[i][offset + j]
        assert cell.text(PREDICTED) == NOT_YET
        assert cell.figure(PREDICTED) is None
        assert cell.figure(ARTICLE) is not None or cell.text(ARTICLE) == "96+"


@pytest.mark.parametrize("name", ["inference", "waterfall", "oom_cliff"])
def test_rows_that_the_run_lacks_are_dashes(poor, name):
    for row in first(poor, name).rows:
        for cell in row[1:]:
            if not isinstance(cell, str):
                assert cell.text(PREDICTED) in {MISSING, NOT_YET}
                assert cell.text(ARTICLE) != NOT_YET


def test_the_waterfalls_changes_add_up_to_its_memory(inputs):
    rows = first(inputs, "waterfall").rows
    total = 0.0
    for _, memory, change in rows[:5]:
        total += change.figure(PREDICTED)
        assert total == pytest.approx(memory.figure(PREDICTED))
    assert rows[1][2].text(ARTICLE) == "+8.4 activations"


def test_the_waterfall_also_has_the_peak_of_all_steps(inputs):
    head, cell, where = first(inputs, "waterfall").rows[-1]
    name = "Training/llama2-7b/fp16/adamw/batch:4/seq:512"
    assert cell.figure(PREDICTED) == inputs.value(name, "pred_allocated")
    assert cell.text(ARTICLE) == MISSING
    assert "backward of step 2" in where
    assert head not in [row["label"] for row in inputs.article.waterfall["rows"]]


def test_deviations_show_count_and_rest(inputs):
    """The synthetic 12 B/param after the optimizer step deviate by the count alone."""
    table = next(t for t in waterfall.build(inputs) if t.key == "table2_deviations")
    row = dict(zip(table.headings, table.rows[heads(table).index("after optimizer")], strict=True))
    true = inputs.models["llama2-7b"].parameters
    assert row["article\nGB, B/param"] == "84.00\n12.00"
    assert row["predicted\nGB, B/param"] == f"{gb(12 * true, 2)}\n12.00"
    assert row["deviation"] == row["by the count"]
    assert row["the rest"].startswith("0.00")


def test_table_3_names_cards_in_both_units(inputs):
    row = first(inputs, "oom_cliff").rows[0]
    assert row[0].replace("\N{NO-BREAK SPACE}", " ") == "24 GB\nRTX 4090\n24,564 MiB\n25.8 GB"


def test_table_3_counts_batches(inputs):
    table = first(inputs, "oom_cliff")
    column = table.headings.index("7B FP16+SGD")
    texts = [row[column].text(PREDICTED) for row in table.rows]
    found = [
        inputs.value(f"OomCliff/llama2-7b/fp16/sgd/seq:512/gpu:{row['gpu']}", "pred_max_batch")
        for row in inputs.article.oom_cliff["rows"]
    ]
    assert texts == [f"{n:.0f}" if n else "OOM" for n in found]
    assert "OOM" in texts
    assert texts[-1] != "OOM"


def test_captions_say_evidence_commit_and_command(inputs, measured):
    text = html_fragment(first(inputs, "inference"))
    assert "redicted by dry runs on a virtual NVIDIA H200" in text
    assert "commit abc1234" in text
    assert "measured on" not in text
    assert "--device=virtual:h200 --benchmark_filter=&#x27;^Inference/llama2-7b/&#x27;" in text

    text = markdown_fragment(first(measured, "inference"))
    assert "measured on cuda:0 NVIDIA H200" in text
    assert "GPU NVIDIA H200, driver 580.1, CUDA 13.0, cuBLAS 13.1" in text
    assert "none" not in text
    assert "--device=cuda " in text


def test_a_caption_claims_no_prediction_that_is_not_there(inputs, poor):
    assert "redicted by" not in html_fragment(first(inputs, "multi_gpu"))
    assert "redicted by" not in html_fragment(first(poor, "waterfall"))


def test_claims_have_their_own_figures(inputs):
    rows = {row[0]: row[1] for row in claims.build(inputs)[0].rows}
    by_id = {claim["id"]: claim["text"] for claim in inputs.article.claims}
    true = inputs.models["llama2-7b"].parameters
    assert rows[by_id["kv_bytes_per_token"]].startswith("262,144")
    assert rows[by_id["master_weights_extra"]].startswith(gb(4 * true))
    assert rows[by_id["master_weights_optimizer"]].startswith(gb(12 * true))
    assert rows[by_id["lora_optimizer"]] == NOT_YET
    assert by_id["batch_headroom"] not in rows


def test_every_row_of_the_run_is_listed(inputs):
    (table,) = sweep.build(inputs)
    families = {"Training", "Inference", "KvCache"}
    names = [name for name in inputs.run.rows.index if name.split("/")[0] in families]
    assert [row[0] for row in table.rows] == names


def test_texts_are_escaped(inputs):
    table = dataclasses.replace(
        first(inputs, "multi_gpu"), headings=["<script>", "a|b", "", "", ""]
    )
    assert "<script>" not in html_fragment(table)
    assert "a\\|b" in markdown_fragment(table)
