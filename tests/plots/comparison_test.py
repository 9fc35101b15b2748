"""Both programs in turn on one card."""

import dataclasses
import shutil

import pytest
import synthetic
from comparisons import DOCUMENT, ROW, write
from vramfit_plots.captions import provenance
from vramfit_plots.files import AbsentError, BadInputError, data_dir
from vramfit_plots.schemas import read_json
from vramfit_plots.topics import comparison as topic
from vramfit_plots.units import MISSING


@pytest.fixture
def table(inputs, tmp_path):
    comparison = read_json(write(tmp_path / "a-compare.json"), "comparison")
    (table,) = topic.build(dataclasses.replace(inputs, comparison=comparison))
    return table


def test_a_row_for_each_way_of_pytorchs(table):
    assert [row[:2] for row in table.rows] == [
        [ROW, "eager"],
        [ROW, "torch.compile"],
        [ROW.replace("batch:8", "batch:9"), "eager"],
    ]


def test_ratios_stand_above_both_figures(table):
    assert table.rows[0][2:] == [
        "1.60\n80,000 / 50,000",
        "0.50\n22.0 / 44.0",
        "0.51\n23.0 / 45.0",
        "0.52\n24.0 / 46.0",
    ]


def test_a_side_without_figures_says_why(table):
    assert table.rows[1][2] == f"{MISSING}\n80,000 / OOM"
    assert table.rows[2][2:4] == [f"{MISSING}\nfailed / 1", f"{MISSING}\nfailed / 1.0"]


def test_provenance_has_both_sides_versions(inputs, tmp_path, table):
    comparison = read_json(write(tmp_path / "a-compare.json"), "comparison")
    said = provenance(dataclasses.replace(inputs, comparison=comparison))
    assert said["vramfit against PyTorch"] == (
        "in turn on one NVIDIA H200: driver 580.1, CUDA 13.0, PyTorch 2.11.0, transformers 5.17.0, "
        "commit abc1234"
    )
    assert table.command == "make compare-pytorch"


def test_without_one_there_is_no_table(inputs):
    with pytest.raises(AbsentError):
        topic.build(dataclasses.replace(inputs, comparison=None))


def test_the_newest_is_taken(tmp_path, taken):
    data = tmp_path / "data"
    shutil.copytree(data_dir(), data, ignore=shutil.ignore_patterns("runs"))
    folder = data / "runs/nvidia-h200/580.1-13.0"
    folder.mkdir(parents=True)
    write(folder / "2026-11-21-abc1234-compare.json")
    run = synthetic.write(tmp_path / "bench.json", synthetic.document())
    found = taken("--run", str(run), "--data", str(data)).comparison
    assert found["cases"][0]["row"] == ROW


def test_it_is_in_the_report(full):
    page = (full / "comparison.html").read_text()
    assert "<h1>Against PyTorch on the same card</h1>" in page
    assert "1.60<br><small>80,000 / 50,000</small>" in page
    assert '<a href="comparison.html">' in (full / "index.html").read_text()
    assert "1.60<br>80,000 / 50,000" in (full / "fragments/comparison.md").read_text()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"schema": 2}, "schema"),
        ({"cases": [{"eager": {}}]}, "no 'row'"),
        ({"cases": [{**DOCUMENT["cases"][1], "eager": {}}]}, "none of Measured, Out of memory"),
    ],
)
def test_a_file_of_another_shape_is_named(tmp_path, changes, complaint):
    with pytest.raises(BadInputError, match=rf"a-compare\.json: .*{complaint}"):
        read_json(write(tmp_path / "a-compare.json", **changes), "comparison")
