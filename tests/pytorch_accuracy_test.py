"""`vramfit --runtime pytorch` against every measured case of data/reference."""

import json

import pytest
from built import ROOT, measured_release, program
from schema_test import objections, validator, without_strangers
from vramfit_plots.accuracy import run
from vramfit_plots.accuracy.bounds import BOUNDS
from vramfit_plots.accuracy.comparison import Accuracy, compare
from vramfit_plots.accuracy.fit import ask
from vramfit_plots.files import data_dir, read_jsonl
from vramfit_plots.tables import markdown_fragment
from vramfit_plots.topics import accuracy


@pytest.fixture(scope="module")
def comparison() -> Accuracy:
    return compare(program("fit"), data_dir())


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{bound.figure}: {bound.text}")
def test_predictions_are_within_what_is_asked(comparison, bound):
    figures = comparison.figures[comparison.figures["kind"] == bound.figure]
    worst = figures.loc[figures["error"].abs().idxmax()]
    assert bound.kept(figures["error"]), (
        f"{bound.value(figures['error']):+.2%}; worst: {comparison.cases[worst.case].title}, "
        f"{worst.stage}: predicted {worst.predicted:,}, measured {worst.measured:,}"
    )


@pytest.fixture(scope="module")
def several() -> Accuracy:
    return compare(program("fit"), data_dir(), several_gpus=True)


def test_on_several_gpus_they_are_nearer(several):
    """Of each of them, every level at its peak, and what is allocated by stage."""
    assert len(several.cases) >= 10
    for kind, most in {
        "peak allocated": 1e-4,
        "allocated by stage": 1e-3,
        "peak reserved": 2e-3,
        "peak device used": 2e-3,
    }.items():
        assert several.errors(kind).abs().max() <= most, kind


@pytest.mark.parametrize("key", ["accuracy", "accuracy_formulas", "accuracy_gpus"])
def test_the_docs_show_these_figures(comparison, several, key):
    built = [*accuracy.tables(comparison), accuracy.of_several_gpus(several)]
    table = next(table for table in built if table.key == key)
    shown = (ROOT / "docs" / "accuracy.md").read_text()
    rows = [line for line in markdown_fragment(table).splitlines() if line.startswith("|")]
    for row in rows:
        assert row in shown, f"take it from build/accuracy/{key}.md"


def test_the_run_of_every_case_is_one_of_benchs(comparison, several):
    document = run.document(comparison, "make accuracy", several)
    assert objections(validator("bench.schema.json"), document) == []
    described = without_strangers("bench.schema.json", "row")
    rows = document["benchmarks"]
    assert [found for row in rows for found in objections(described, row)] == []
    assert len({row["name"] for row in rows}) == len(rows) > 200
    assert sum("gpus:" in row["name"] for row in rows) == len({case.name for case in several.cases})
    both = [row for row in rows if {"mem_allocated", "pred_allocated"} <= row.keys()]
    errors = (abs(row["pred_allocated"] / row["mem_allocated"] - 1) for row in both)
    # Of a case that was measured twice the run has the first.
    assert max(errors) == pytest.approx(comparison.errors("peak allocated").abs().max(), rel=0.01)


def test_the_largest_batches_with_lora_grow_with_the_card():
    """Beside what was measured within caps of 24 and 48 GiB on the allocator alone."""
    question = ["--runtime", "pytorch", "--train", "--max-batch", "--model", "llama2-7b"]
    question += ["--precision", "bf16", "--quant", "int8", "--optimizer", "adamw"]
    question += ["--seq", "512", "--lora", "16"]
    cards = ("rtx4090", "a100-40gb", "l40s", "h100-80gb")
    rtx4090, a100, l40s, h100 = (
        ask(program("fit"), [*question, "--gpu", card], card)["max_batch"] for card in cards
    )
    assert 1 <= rtx4090 <= 3
    assert rtx4090 < a100 < l40s < h100
    assert 3 < l40s <= 12


def test_models_have_the_parameters_that_were_counted(comparison):
    for case, prediction in zip(comparison.cases, comparison.predictions, strict=True):
        if not case.packed:
            assert prediction.parameters == case.parameters, case.title


# What `fit` calls TIGHT rests on these two, so they are neither smaller nor much larger than what
# was found.


def test_the_error_of_what_is_reserved_is_the_published_one(comparison):
    worst = comparison.errors("peak reserved").abs().max()
    release = measured_release()
    published = release["reserved_error"]["value"]
    assert worst <= published <= worst + 0.001


def test_the_error_of_llm_int8_is_that_of_the_weights_that_were_drawn():
    """Five sets of random weights of one model, on an H200."""
    lines = read_jsonl(data_dir() / "reference" / "pytorch_int8_draws.jsonl")
    measured = [line["result"]["points"][0]["reserved"] for line in lines if "draw" in line]
    assert len(measured) == 5
    question = ["--model", "llama3-8b", "--precision", "bf16", "--quant", "int8", "--unpadded"]
    levels = ask(program("fit"), [*question, "--gpu", "h200", "--seq", "512"], "")["levels"]
    worst = max(abs(each / levels["reserved"] - 1) for each in measured)
    release = measured_release()
    assert worst <= release["int8_reserved_error"]["value"] <= worst + 0.01


def test_the_range_of_the_overhead_is_what_was_found(comparison):
    """Paged states are on the card as well, in pieces of the driver's choosing, and in no total."""
    figures = comparison.figures
    paged = [i for i, case in enumerate(comparison.cases) if "paged" in case.setting.get("opt", "")]
    assert len(paged) == 1
    figures = figures[~figures["case"].isin(paged)]
    peaks = figures[figures["kind"].isin(["peak reserved", "peak device used"])]
    of_level = peaks.pivot_table(index="case", columns="level", values=["predicted", "measured"])
    overhead = {
        side: of_level[side]["device_used"] - of_level[side]["reserved"]
        for side in ("predicted", "measured")
    }
    worst = (overhead["predicted"] - overhead["measured"]).abs().max()
    cards = json.loads((data_dir() / "gpus.json").read_text())["cards"]
    h200 = next(card for card in cards if card["name"] == "h200")
    assert h200["overhead"]["range"]["bytes"] == worst
