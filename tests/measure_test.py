"""`make measure`, with stand-ins for bench and for the program that compares runs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import ROOT

BENCH = """
import json, pathlib, sys
flags = dict(a.removeprefix("--").split("=", 1) for a in sys.argv[1:] if "=" in a)
if {STATUS}:
    sys.exit({STATUS})
context = {{"date": "2026-11-22T00:00:00+00:00", "gpu": "NVIDIA H200", "driver": "580.1",
           "cuda": "13.0", "commit": "abc1234", "host_name": "x"}}
name = "Overhead/context" if "write-profile" in flags else "Training/x"
if "write-profile" in flags:
    pathlib.Path(flags["write-profile"]).write_text('{{"schema": 1}}')
if "ledgers" in flags:
    pathlib.Path(flags["ledgers"]).mkdir()
    pathlib.Path(flags["ledgers"], "Training_x.json.gz").write_text("ledger")
report = {{"context": context, "benchmarks": [{{"name": name}}]}}
pathlib.Path(flags["benchmark_out"]).write_text(json.dumps(report))
"""
COMPARE = """
import json, sys
assert sys.argv[1:3] == ["--against", "newest"]
run = json.load(open(sys.argv[3]))
print("1 of", len(run["benchmarks"]), "rows takes more")
sys.exit({STATUS})
"""


class Checkout:
    """A copy of what `make measure` runs, with a data folder of its own."""

    def __init__(self, folder: Path):
        self.root = folder
        shutil.copytree(ROOT / "scripts", folder / "scripts")
        ours = "plots/vramfit_plots"
        shutil.copytree(ROOT / ours, folder / ours, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "build").mkdir()
        self.program("bench", BENCH, 0)

    def program(self, name: str, text: str, status: int) -> None:
        path = self.root / "build" / name
        path.write_text(f"#!{sys.executable}\n{text.format(STATUS=status)}")
        path.chmod(0o755)

    def measure(self) -> subprocess.CompletedProcess:
        command = [sys.executable, self.root / "scripts/measure"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def runs(self) -> list[Path]:
        return sorted((self.root / "data/runs").rglob("*.json"))

    def earlier(self, name: str) -> None:
        path = self.root / "data/runs/nvidia-h200/570.1-12.9" / name
        path.parent.mkdir(parents=True)
        path.write_text("{}")


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_the_first_run_of_a_card_is_said_to_be_one(checkout):
    checkout.earlier("2026-11-20-1234567-compare.json")
    run = checkout.measure()
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1].startswith("It is this card's first run")


def test_ledgers_are_kept_beside_the_run(checkout):
    assert checkout.measure().returncode == 0
    (run,) = checkout.runs()
    kept = run.with_suffix(".ledgers") / "Training_x.json.gz"
    assert kept.read_text() == "ledger"
    assert not (checkout.root / "build/measure").exists()


@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_run_is_kept_and_compared_with_the_one_before(checkout, status):
    checkout.earlier("2026-11-20-1234567.json")
    checkout.program("compare", COMPARE, status)
    run = checkout.measure()
    assert run.returncode == 0, run.stderr
    said = run.stdout.splitlines()
    assert said[0].startswith("The run is in data/runs/nvidia-h200/580.1-13.0/")
    assert said[1] == "1 of 2 rows takes more"
    kept = json.loads(checkout.runs()[-1].read_text())
    assert [row["name"] for row in kept["benchmarks"]] == ["Overhead/context", "Training/x"]
    assert "host_name" not in kept["context"]


def test_without_the_program_that_compares_the_run_is_kept_too(checkout):
    checkout.earlier("2026-11-20-1234567.json")
    run = checkout.measure()
    assert run.returncode == 0
    assert "Not compared with the run before: build/compare: No such file" in run.stderr
    assert len(checkout.runs()) == 2


def test_what_bench_refuses_ends_it(checkout):
    checkout.program("bench", BENCH, 2)
    assert checkout.measure().returncode == 2
    assert checkout.runs() == []
