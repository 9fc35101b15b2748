import copy
import dataclasses
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from table_rows import by_head, heads
from vramfit_plots import words
from vramfit_plots.article_tables import Footnotes
from vramfit_plots.captions import provenance
from vramfit_plots.history.page import PICTURES
from vramfit_plots.sources import (
    ARTICLE,
    COUNTED,
    MEASURED,
    PREDICTED,
    SOURCES,
    TORCH,
    TORCH_MEASURED,
)
from vramfit_plots.tables import Column, Table, html_fragment, listing, markdown_fragment
from vramfit_plots.topics import inference, multi_gpu, oom_cliff, rows, sharded, waterfall
from vramfit_plots.topics.cliffs import attempt, least_printed
from vramfit_plots.units import MISSING, gb

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


def test_a_columns_entry_is_what_is_found_as_it_is_written():
    @dataclasses.dataclass
    class Item:
        name: str
        size: float | None

    columns = (
        Column("name", "name", text=True),
        Column("GB", "size", gb, 2),
        Column("twice", lambda item: item.size and 2 * item.size, gb),
    )
    items = [Item("one", 1.5e9), Item("none", None)]
    table = listing("wrong", columns, items, "make it", unknown="one, another")
    assert table.rows == [["one", "1.50", "3.0"], ["none", MISSING, MISSING]]
    assert table.headings == ["name", "GB", "twice"]
    assert table.text_columns == {0}
    assert table.title == "Where the article is wrong"
    assert table.note == "This run holds too few rows to tell about: one, another."
    assert table.command == "make it"
    assert listing("wrong", columns, items, unknown="").note == ""


def test_every_row_is_as_long_as_the_headings():
    with pytest.raises(ValueError, match="key: a row"):
        Table("key", "title", "note", ["name", "GB"], [["one", "1.5"], ["two"]])


def test_all_words_are_of_something():
    """A table, a picture, or a note that others include."""
    folder = Path(words.__file__).parent
    code = "".join(path.read_text() for path in folder.rglob("*.py"))
    code += "".join(f'"history_{name}"' for name in PICTURES)
    notes = json.loads((folder / "words.json").read_text())
    texts = "".join(text for parts in notes.values() for text in parts.values())
    assert [key for key in notes if f'"{key}"' not in code and f"'{key}'" not in texts] == []


def first(inputs, name):
    return BUILDERS[name](inputs)[0]


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


@pytest.mark.parametrize("name", BUILDERS)
def test_the_first_table_has_the_articles_columns_and_one_figure_a_cell(measured, name):
    table = first(measured, name)
    # Behind the article's own.
    columns = ["perplexity\ngpt2-124m"] if name == "inference" else []
    beside = ["FP8"] if name == "inference" else []
    assert table.headings == getattr(measured.article, name)["columns"] + columns
    assert heads(table)[len(getattr(measured.article, name)["rows"]) :] == beside
    assert not any("|" in entry for row in table.rows for entry in row)


@pytest.mark.parametrize("name", BUILDERS)
def test_the_second_is_the_same_by_source(measured, name):
    table = BUILDERS[name](measured)[1]
    assert table.key == first(measured, name).key + "_sources"
    sources = [source.heading for source in SOURCES]
    assert table.headings[1] == ARTICLE.heading
    assert table.headings[1:] == [h for h in sources if h in table.headings]
    printed = {text for row in table.rows for text in row[1:2]}
    assert printed - {MISSING}


def signed(table, entry: str) -> tuple[str, str]:
    """A figure that has a sign, and what the sign says below the table."""
    figure, sign = entry.split("\N{NARROW NO-BREAK SPACE}")
    said = dict(re.findall(r"(?:^|(?<= ))([†‡§¶]+) (.+?)\.(?= |$)", table.note))
    return figure, said[sign]


@pytest.mark.parametrize("name", BUILDERS)
def test_every_sign_is_said_below_its_table_and_none_is_idle(inputs, measured, name):
    for source in (inputs, measured):
        for table in BUILDERS[name](source):
            entries = "".join(entry for row in table.rows for entry in row)
            used = set(re.findall("\N{NARROW NO-BREAK SPACE}([†‡§¶]+)", entries))
            assert used == set(re.findall("[†‡§¶]+", table.note)), table.key


def test_there_is_a_sign_for_every_remark():
    footnotes = Footnotes()
    signs = [footnotes.signed("1", f"remark {i}")[2:] for i in range(30)]
    assert len(set(signs)) == 30
    assert signs[:5] == ["†", "‡", "§", "¶", "††"]
    assert footnotes.signed("2", "remark 4") == "2\N{NARROW NO-BREAK SPACE}††"
    assert all(f"{sign} remark {i}." in footnotes.text for i, sign in enumerate(signs))


def test_table_1_by_source_sets_each_in_its_own_column(inputs):
    row = by_head(inference.build(inputs)[1], "FP16 peak bs=8, 2048 tokens")
    name = "Inference/llama2-7b/fp16/batch:8/seq:2048"
    assert row == {
        "precision": "FP16\npeak bs=8, 2048 tokens",
        "article": "22.2",
        "vramfit predicted": gb(inputs.value(name, "pred_allocated")),
        "PyTorch predicted": gb(inputs.value(name, "pytorch_allocated")),
        "PyTorch measured": gb(inputs.value(name, "pytorch_measured_allocated")),
    }


def test_a_measured_column_appears_with_a_measured_run(inputs, measured):
    assert MEASURED.heading not in inference.build(inputs)[1].headings
    assert inference.build(measured)[1].headings[1:] == [s.heading for s in SOURCES]


@pytest.mark.parametrize("source", COUNTED, ids=lambda source: source.key)
def test_the_articles_table_has_the_figures_of_the_source_that_was_asked_for(measured, source):
    asked = dataclasses.replace(measured, source=source)
    name = "Inference/llama2-7b/fp16/batch:8/seq:2048"
    assert by_head(first(asked, "inference"), "FP16")["peak bs=8, 2048 tokens"] == gb(
        measured.value(name, f"{source.prefix}allocated")
    )
    note = first(asked, "inference").note
    assert {"vramfit": "vramfit", "PyTorch": "PyTorch"}[source.heading.split()[0]] in note


W8A8 = "vramfit's W8A8, a scale a row"


def test_int8_and_int4_say_whose_they_are(measured):
    table = first(measured, "inference")
    assert signed(table, by_head(table, "INT8")["model"])[1] == W8A8
    assert signed(table, by_head(table, "INT4")["model"])[1] == "vramfit's NF4, weights alone"
    by_source = inference.build(measured)[1]
    row = by_head(by_source, "INT8 model")
    assert signed(by_source, row[MEASURED.heading])[1] == W8A8
    assert signed(by_source, row[PREDICTED.heading])[1] == W8A8
    assert signed(by_source, row[TORCH_MEASURED.heading]) == ("7.0", "bitsandbytes' LLM.int8()")
    row = by_head(by_source, "INT4 peak bs=8, 2048 tokens")
    assert signed(by_source, row[TORCH_MEASURED.heading]) == ("14.4", "bitsandbytes' NF4")


def test_fp8_stands_below_the_articles_rows_with_what_there_is_of_it(measured):
    by_source = inference.build(measured)[1]
    row = by_head(by_source, "FP8 peak bs=8, 2048 tokens")
    assert row[ARTICLE.heading] == row[TORCH_MEASURED.heading] == MISSING
    figure, whose = signed(by_source, row[MEASURED.heading])
    assert figure == gb(measured.need("Inference/llama2-7b/fp8/batch:8/seq:2048", "mem_allocated"))
    assert whose.startswith("vramfit's E4M3")
    assert not any("FP8" in head for head in heads(inference.build(measured)[2]))


def test_who_stands_in_for_a_missing_figure_is_marked_and_named(inputs, measured):
    """PyTorch's FP8 nobody measured, and its INT8 nobody predicted."""
    table = first(inputs, "inference")
    assert signed(table, by_head(table, "INT8")["model"]) == ("7.0", "bitsandbytes' LLM.int8()")
    assert signed(table, by_head(table, "FP8")["model"])[1].startswith("vramfit predicted, ")
    asked = first(dataclasses.replace(measured, source=TORCH), "inference")
    assert signed(asked, by_head(asked, "INT8")["model"])[1] == f"vramfit measured, {W8A8}"


def test_what_nobody_knows_is_a_dash_that_says_why(inputs):
    article = copy.deepcopy(inputs.article)
    for cell in article.multi_gpu["rows"][1]["cells"]:
        cell |= {"row": None, "needs": "pipeline parallelism"}
    table = first(dataclasses.replace(inputs, article=article), "multi_gpu")
    row = by_head(table, "pipeline parallel")
    said = "Neither measured nor predicted: pipeline parallelism"
    assert signed(table, row["2 GPUs"]) == (MISSING, said)


INT8_LORA = "OomCliff/llama2-7b/int8/adamw/seq:512/lora:16/gpu:rtx4090"


@pytest.mark.parametrize(
    ("none", "selective", "full", "said"),
    [
        (8.0, 20.0, 90.0, "8 †\nmet without checkpointing"),
        (7.0, 20.0, 90.0, "7 †\nmet with selective checkpointing: 20"),
        (0.0, 7.0, 8.0, "OOM †\nmet with full checkpointing: 8"),
        (3.0, 4.0, 7.0, "3 †\nnot met even with full checkpointing: 7"),
        (3.0, math.nan, math.nan, "3 †\nnot met without checkpointing"),
    ],
)
def test_a_cell_says_what_it_takes_to_meet_the_articles_batch(inputs, none, selective, full, said):
    """Of 8 sequences within 24 GB."""
    rows = inputs.rows.copy()
    for end, largest in (
        ("", none),
        ("/checkpoint:selective", selective),
        ("/checkpoint:full", full),
    ):
        rows.loc[INT8_LORA + end, "pred_max_batch"] = largest
    table = first(dataclasses.replace(inputs, rows=rows), "oom_cliff")
    own = by_head(table, "24 GB")
    assert own["7B INT8+LoRA"].replace("\N{NARROW NO-BREAK SPACE}", " ") == said
    assert "\n" not in own["7B FP16+Adam"], "OOM asks for no batch"
    assert "LoRA of rank 16, in bf16, on vramfit's W8A8" in table.note


def test_at_least_is_met_by_no_less(inputs):
    row = INT8_LORA.replace("rtx4090", "h100-80gb")
    rows = inputs.rows.copy()
    for largest, met in ((95.0, False), (96.0, True)):
        rows.loc[row, "pred_max_batch"] = largest
        assert attempt(dataclasses.replace(inputs, rows=rows), row, PREDICTED, "96+").plain is met
    assert least_printed("OOM") is None


def test_table_4_has_the_models_own_figures(inputs):
    """PyTorch's of four GPUs were measured on one, as one rank of a fake process group."""
    row = "MultiGpu/llama2-13b/bf16/adamw-same/fsdp/batch:1/seq:2048/gpus:4"
    held = inputs.value(row, "pytorch_measured_step1_optimizer_after")
    assert inputs.value(row, "pytorch_measured_device_used") is None, "NCCL's share is not in it"
    assert row in inputs.reference.of_one_rank
    table = next(t for t in multi_gpu.build(inputs) if t.key == "table4_sources")
    found = {line[0]: line[-1] for line in table.rows}
    assert found["FSDP / ZeRO-3\n4 GPUs"].startswith(gb(held))
    assert "fake process group" in table.note
    assert found["FSDP / ZeRO-3\n2 GPUs"] == "52.5", "measured on two"
    assert found["data parallel\n2 GPUs"] == MISSING, "13B was not, and 7B is another model"


def test_several_gpus_are_also_there_as_measured(inputs):
    table = next(t for t in sharded.build(inputs) if t.key == "table4_measured")
    rows = {row[0].replace("\n", ", "): row[1:4] for row in table.rows}
    size = "llama2-7b bf16 adamw-same, 1 \N{MULTIPLICATION SIGN} 2048"
    assert rows[f"DDP on 2 GPUs, {size}"] == ["67.5", "20.0", "67.5"]
    assert rows[f"FSDP / ZeRO-3 on 4 GPUs, {size}"] == ["13.6", "8.1", "24.6"]


@pytest.mark.parametrize("name", ["inference", "waterfall", "oom_cliff"])
def test_rows_that_the_run_lacks_are_dashes(poor, name):
    second = BUILDERS[name](poor)[1]
    assert PREDICTED.heading not in second.headings
    assert second.headings[1] == ARTICLE.heading


def test_table_3_says_which_cards_stand_for_its_sizes(inputs):
    note = first(inputs, "oom_cliff").note.replace("\N{NO-BREAK SPACE}", " ")
    assert "24 GB: RTX 4090, 25.8 GB" in note


def test_a_caption_says_whose_figures_and_its_command_is_kept(inputs, measured):
    table = first(inputs, "inference")
    assert "Measured in PyTorch." in table.note
    command = "--device=virtual:h200 --benchmark_filter='^Inference/llama2-7b/'"
    assert command in table.command
    assert "commit" not in html_fragment(table)
    assert "Measured by vramfit on one, two and four NVIDIA H200s." in markdown_fragment(
        first(measured, "inference")
    )
    assert "--device=cuda " in first(measured, "inference").command


def test_provenance_is_said_of_the_sources_that_there_are(inputs, measured):
    assert MEASURED.heading not in provenance(inputs)
    assert "commit abc1234" in provenance(inputs)[PREDICTED.heading]
    said = provenance(measured)[MEASURED.heading]
    assert "GPU NVIDIA H200, driver 580.1, CUDA 13.0, cuBLAS 13.1" in said
    assert "none" not in said


def test_provenance_has_every_environment_of_the_reference(inputs):
    said = provenance(inputs)[TORCH_MEASURED.heading]
    for file, environment in inputs.reference.environments.items():
        assert file in said
        assert environment in said
    assert "bitsandbytes 0.50.2" in said
    assert "pytorch_multi_gpu_levels" in said
    assert "NVLink" not in said, "no file says so"


def test_every_row_of_the_run_is_listed(inputs):
    (table,) = rows.build(inputs)
    families = {"Training", "Inference", "KvCache"}
    names = [name for name in inputs.run.rows.index if name.split("/")[0] in families]
    assert [row[0] for row in table.rows] == names


def test_texts_are_escaped(inputs):
    table = dataclasses.replace(
        first(inputs, "multi_gpu"), headings=["<script>", "a|b", "", "", ""]
    )
    assert "<script>" not in html_fragment(table)
    assert "a\\|b" in markdown_fragment(table)
