"""Fragments and pictures are found by their names: docs/report.md lists all, and none may go."""

import dataclasses
import re
import shutil

import pytest
import pytorch_cases as known
import synthetic
from comparison_test import DOCUMENT
from vramfit_plots.accuracy.comparison import compare
from vramfit_plots.comparison import Comparison, Pair
from vramfit_plots.files import data_dir
from vramfit_plots.inputs import load_inputs
from vramfit_plots.report import write_report

OPS = "Ops/tinyllama-1.1b/bf16/adamw-same/batch:8/seq:2048"


def listed(kind: str) -> set[str]:
    """The names in the first column of the table that begins with `kind`."""
    text = (data_dir().parent / "docs" / "report.md").read_text()
    table = text[text.index(f"| {kind}, ") :].split("\n\n")[0]
    return {
        name
        for row in table.splitlines()[2:]
        for name in re.findall(r"`(\w+)`", row[: row.index(" | ")])
    }


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """The report of a run that holds everything."""
    folder = tmp_path_factory.mktemp("full")
    content = synthetic.document(measured=True)
    content["benchmarks"] += synthetic.ops(OPS)
    estimate = {**content["benchmarks"][0], "name": "Estimate/training/llama2-7b", "label": "x"}
    content["benchmarks"].append(estimate)
    inputs = load_inputs(synthetic.write(folder / "bench.json", content), data_dir())
    shutil.copy(data_dir() / "gpus.json", folder)
    known.write(folder, "pytorch_here", [known.training(), known.inference(), known.largest(3)])
    case = DOCUMENT["cases"][0]
    pair = Pair(case["row"], "eager", case["vramfit"], case["eager"])
    everything = dataclasses.replace(
        inputs,
        accuracy=compare(known.program(folder), folder),
        comparison=Comparison(DOCUMENT["context"], [pair]),
    )
    write_report(everything, folder / "report")
    return folder / "report"


def test_every_fragment_is_listed_and_there(full):
    for suffix in (".html", ".md"):
        written = {path.stem for path in (full / "fragments").glob(f"*{suffix}")}
        assert written == listed("fragment")


def test_every_picture_is_listed_and_there(full):
    for suffix in (".png", ".svg"):
        written = {path.stem for path in (full / "figures").glob(f"*{suffix}")}
        assert written == listed("picture")
    kept = {path.stem for path in (data_dir().parent / "plots" / "pictures").glob("*.png")}
    assert kept <= listed("picture")
    assert "article" in kept
