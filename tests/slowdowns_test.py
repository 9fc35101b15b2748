"""data/slowdowns.json, recomputed from what was measured: no figure of it is by hand."""

import json
from functools import cache

import pytest
from built import ROOT
from vramfit_plots.accuracy.names import of_more, row_names

DATA = ROOT / "data"
SLOWDOWNS = json.loads((DATA / "slowdowns.json").read_text())
COMPARISONS = SLOWDOWNS["comparisons"]


@cache
def cases(file: str) -> dict[str, dict]:
    """What a file of data/reference has of each case, by its name; of an inference, of its point.
    Of a case that was run again, the first that was timed."""
    found: dict[str, dict] = {}
    for line in map(json.loads, (DATA / file).read_text().splitlines()):
        if "case" not in line:
            continue
        result = line["result"]
        results = result.get("points", [result])
        names = row_names(line["case"], more=of_more(file.removesuffix(".jsonl")))
        for name, each in zip(names, results, strict=True):
            if any(key in each for key in ("tokens_per_s", "decode_tok_s")):
                found.setdefault(name, each)
    return found


@cache
def rows(file: str) -> dict[str, dict]:
    """The rows of a file of data/runs, by name; of one beside PyTorch, PyTorch's eager side."""
    run = json.loads((DATA / file).read_text())
    if "cases" in run:
        return {case["row"]: {"eager": case["eager"]["tokens_per_second"]} for case in run["cases"]}
    return {row["name"]: row for row in run["benchmarks"]}


def measured(comparison: dict, row: str) -> float:
    file = comparison["file"]
    return (cases if file.endswith(".jsonl") else rows)(file)[row][comparison["figure"]]


def title(comparison: dict) -> str:
    return f"{comparison['runtime']} {comparison['mode']} {comparison['kind']} {comparison['run']}"


@pytest.mark.parametrize("comparison", COMPARISONS, ids=title)
def test_speeds_are_what_was_measured(comparison):
    for setting, speed in comparison["speeds"].items():
        assert speed["tokens_per_second"] == round(measured(comparison, speed["row"]), 1), setting


def gpu_of(file: str) -> str:
    if file.startswith("runs/"):
        context = json.loads((DATA / file).read_text())["context"]
        return context.get("gpu") or context["gpu_name"]
    env = json.loads((DATA / file).read_text().splitlines()[0])["env"]
    return env.get("gpu") or env["smi"].partition(",")[0]


@pytest.mark.parametrize("file", sorted({comparison["file"] for comparison in COMPARISONS}))
def test_all_is_of_one_gpu(file):
    assert gpu_of(file) == SLOWDOWNS["gpu"]


def alike(name: str) -> set[str]:
    """The parts of a row's name that say what was run."""
    return set(name.split("/"))


@pytest.mark.parametrize("comparison", COMPARISONS, ids=title)
def test_runs_differ_by_the_setting_alone(comparison):
    names = [alike(speed["row"]) for speed in comparison["speeds"].values()]
    for name in names[1:]:
        differ = name ^ names[0]
        assert differ, "the same row twice"
        # `lora` beside accumulation, and a batch beside its micro-batches, differ in two parts.
        assert len(differ) <= 3, differ


@pytest.mark.parametrize("comparison", COMPARISONS, ids=title)
def test_the_words_name_the_model_and_its_sizes(comparison):
    words = comparison["run"]
    row = next(iter(comparison["speeds"].values()))["row"]
    parts = row.split("/")
    keys = dict(part.split(":", 1) for part in parts if ":" in part)
    assert any(part in words for part in parts if "llama" in part or "gpt2" in part)
    assert keys["seq"] in words
    assert keys["batch"] in words
