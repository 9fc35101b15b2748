"""Both programs in turn on one card."""

import dataclasses
import json
import shutil
from typing import Any

import pytest
import synthetic
from vramfit_plots.__main__ import main
from vramfit_plots.captions import provenance
from vramfit_plots.comparison import load_comparison
from vramfit_plots.errors import BadInputError
from vramfit_plots.files import data_dir
from vramfit_plots.tables import comparison as comparison_table
from vramfit_plots.units import MISSING

ROW = "Training/tinyllama-1.1b/bf16/adamw-same/batch:8/seq:2048"


def side(speed: float, allocated: float) -> dict[str, Any]:
    return {
        "tokens_per_second": speed,
        "allocated": allocated,
        "reserved": allocated + 1e9,
        "device_used": allocated + 2e9,
        "seconds": 9.0,
        "command": "build/bench",
    }


DOCUMENT = {
    "schema": 1,
    "context": {
        "date": "2026-11-21T12:00:00+00:00",
        "commit": "abc1234",
        "gpu": "NVIDIA H200",
        "driver": "580.1",
        "cuda": "13.0",
        "torch": "2.11.0",
        "transformers": "5.17.0",
        "command": "make compare-pytorch",
    },
    "cases": [
        {
            "row": ROW,
            "title": "tinyllama-1.1b",
            "vramfit": side(80_000.0, 22e9),
            "eager": side(50_000.0, 44e9),
            "compile": {"oom": "Tried to allocate 2.00 GiB"},
        },
        {
            "row": ROW.replace("batch:8", "batch:9"),
            "title": "tinyllama-1.1b",
            "vramfit": {"error": "died"},
            "eager": side(1.0, 1e9),
        },
    ],
}


def write(path, **changes):
    path.write_text(json.dumps({**DOCUMENT, **changes}))
    return path


@pytest.fixture
def table(inputs, tmp_path):
    comparison = load_comparison(write(tmp_path / "a-compare.json"))
    (table,) = comparison_table.build(dataclasses.replace(inputs, comparison=comparison))
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
    comparison = load_comparison(write(tmp_path / "a-compare.json"))
    said = provenance(dataclasses.replace(inputs, comparison=comparison))
    assert said["vramfit against PyTorch"] == (
        "in turn on one NVIDIA H200: driver 580.1, CUDA 13.0, PyTorch 2.11.0, transformers 5.17.0, "
        "commit abc1234"
    )
    assert table.caption.command == "make compare-pytorch"


def test_without_one_there_is_no_table(inputs):
    assert comparison_table.build(dataclasses.replace(inputs, comparison=None)) == []


def test_the_newest_is_in_the_report(tmp_path):
    data = tmp_path / "data"
    shutil.copytree(data_dir(), data, ignore=shutil.ignore_patterns("runs"))
    folder = data / "runs/nvidia-h200/580.1-13.0"
    folder.mkdir(parents=True)
    write(folder / "2026-11-21-abc1234-compare.json")
    run = synthetic.write(tmp_path / "bench.json", synthetic.document())
    out = tmp_path / "report"
    assert main(["--run", str(run), "--data", str(data), "--out", str(out)]) == 0
    assert "## Against PyTorch on the same card" in (out / "tables.md").read_text()
    assert "1.60<br><small>80,000 / 50,000</small>" in (out / "tables.html").read_text()
    assert "1.60<br>80,000 / 50,000" in (out / "fragments/comparison.md").read_text()


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
        load_comparison(write(tmp_path / "a-compare.json", **changes))
