import fcntl
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import comparisons
import pytest
import pytorch_cases
import synthetic
from vramfit_plots import __main__ as program
from vramfit_plots.accuracy.comparison import compare
from vramfit_plots.files import data_dir
from vramfit_plots.inputs import Inputs, load_inputs
from vramfit_plots.report import write_report


def _inputs(folder, content) -> Inputs:
    return load_inputs(synthetic.write(folder / "bench.json", content), data_dir())


@pytest.fixture(scope="session")
def inputs(tmp_path_factory) -> Inputs:
    """The default sweep, predicted."""
    return _inputs(tmp_path_factory.mktemp("predicted"), synthetic.document())


@pytest.fixture(scope="session")
def measured(tmp_path_factory) -> Inputs:
    """The same on a GPU: each measured figure 1 MB above its prediction."""
    return _inputs(tmp_path_factory.mktemp("measured"), synthetic.document(measured=True))


@pytest.fixture(scope="session")
def poor(tmp_path_factory) -> Inputs:
    """A run of one row that no table asks for."""
    content = synthetic.document()
    row = {
        "family": "Training",
        "model": "gpt2-1.5b",
        "precision": "bf16",
        "optimizer": "sgd",
        "batch": "1",
        "seq": "64",
    }
    content["benchmarks"] = [synthetic.benchmark(row, measured=False)]
    return _inputs(tmp_path_factory.mktemp("poor"), content)


@pytest.fixture
def taken(monkeypatch) -> Callable[..., Inputs]:
    """What a command line makes the report from, without the report."""

    def take(*arguments: str) -> Inputs:
        kept: list[Inputs] = []
        monkeypatch.setattr(
            program, "write_report", lambda inputs, out: kept.append(inputs) or out / "index.html"
        )
        assert program.main(arguments) == 0
        return kept[0]

    return take


@pytest.fixture(scope="session")
def once(tmp_path_factory, request) -> Callable[[str, Callable[[Path], None]], Path]:
    """A folder by its name, which the first of all workers to ask fills."""
    root = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        root = root.parent  # where each worker's own lie

    def folder(name: str, fill: Callable[[Path], None]) -> Path:
        done, begun = root / name, root / f"{name}.begun"
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(begun, ignore_errors=True)
                begun.mkdir()
                fill(begun)
                begun.rename(done)
        return done

    return folder


def _fill_report(folder: Path) -> None:
    assert synthetic.report(folder) == 0


@pytest.fixture(scope="session")
def report(once) -> Path:
    """The report of the default sweep, predicted; not to be changed."""
    return once("of-predictions", _fill_report) / "report"


def _kept(folder: Path, run: dict[str, Any]) -> Path:
    """A row of each family, twice, with what driver and libraries take, which is more the second
    time: every picture of the history, few panels in each."""
    one_each = {row["name"].split("/")[0]: row for row in run["benchmarks"]}
    taken = {"min": 5e8, "median": 5e8, "max": 5e8, "processes": 5}
    overhead = {**run["benchmarks"][0], "name": "Overhead/context", **taken}
    for date in ("2026-11-20", "2026-11-21"):
        overhead["median"] += 2**21
        path = folder / "card" / "driver" / f"{date}-abc1234.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [overhead, *({**row, "tokens_per_second": 9.0} for row in one_each.values())]
        context = {**run["context"], "date": f"{date}T12:00:00+00:00"}
        synthetic.write(path, {**run, "context": context, "benchmarks": rows})
    return folder


def _fill_full(folder: Path) -> None:
    predicted, measured = synthetic.document(), synthetic.document(measured=True)
    measured["benchmarks"] += synthetic.ops(synthetic.OPS_CASE)
    estimate = {**predicted["benchmarks"][0], "name": "Estimate/training/llama2-7b", "label": "x"}
    predicted["benchmarks"].append(estimate)
    inputs = load_inputs(
        synthetic.write(folder / "predicted.json", predicted),
        data_dir(),
        synthetic.write(folder / "measured.json", measured),
        comparison=comparisons.write(folder / "a-compare.json"),
        kept=_kept(folder / "runs", measured),
    )
    shutil.copy(data_dir() / "gpus.json", folder)
    cases = [pytorch_cases.training(), pytorch_cases.inference(), pytorch_cases.largest(3)]
    pytorch_cases.write(folder, "pytorch_here", cases)
    accuracy = compare(pytorch_cases.program(folder), folder)
    write_report(replace(inputs, accuracy=accuracy), folder / "report")


@pytest.fixture(scope="session")
def full(once) -> Path:
    """The report of runs that hold everything; not to be changed."""
    return once("of-everything", _fill_full) / "report"
