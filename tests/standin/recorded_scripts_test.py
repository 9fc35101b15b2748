"""`vramfit record`: what a tape says at a size that it is not made from is `vramfit run`'s."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from built import program
from stood_in import PACKAGE, forked, needs_torch

pytestmark = needs_torch

SCRIPT = Path(__file__).with_name("recorded_scripts.py")
LEVELS = ("peak", "peak_reserved")


def vramfit(*arguments) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vramfit", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), "HF_HUB_OFFLINE": "1"},
        check=False,
    )


@pytest.fixture(scope="module")
def tape(tmp_path_factory) -> Path:
    """Of rows that are a bit uneven, whose reductions are cut into other pieces."""
    file = tmp_path_factory.mktemp("recorded") / "mlp.tape"
    made = vramfit(
        "record", "-o", file, "--vary", "batch=101,140,205", "--vary", "seq=96,200,333",
        "--check", "batch=150,seq=160",
        "--", forked(), SCRIPT, "mlp", "--batch", "{batch}", "--seq", "{seq}",
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    assert "which it is not made from: equal" in made.stdout
    return file


def levels(answer: dict) -> dict:
    """Of each stage of each step, at most."""
    table: dict = {}
    for stage in answer["stages"]:
        key = stage["step"], "load" if stage["name"] == "loaded" else stage["name"]
        table[key] = [
            max(one, stage[level])
            for one, level in zip(table.get(key, (0, 0)), LEVELS, strict=True)
        ]
    return table


def test_a_tape_says_what_the_script_takes(tape):
    run = vramfit(
        "run", "--gpu", "h200", "--json", "-", "--steps", 3,
        "--", forked(), SCRIPT, "mlp", "--batch", 180, "--seq", 300,
    )  # fmt: skip
    taken = json.loads(run.stdout)
    asked = [program("fit"), "--tape", tape, "--batch", "180", "--seq", "300", "--json"]
    said = json.loads(
        subprocess.run([*asked, "--gpu", "h200"], capture_output=True, check=True).stdout
    )
    told = levels(said)
    assert len(told) == 7  # loading, and two steps
    assert told == {stage: each for stage, each in levels(taken).items() if stage in told}
    assert {level: said["levels"][level] for level in taken["levels"]} == taken["levels"]
    # The same by Python, on a card that it was not recorded on.
    asked = "import vramfit; print(vramfit.estimate(tape={!r}, batch=150, gpu='rtx4090').verdict)"
    answer = subprocess.run(
        [sys.executable, "-c", asked.format(str(tape))],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)}, check=True,
    )  # fmt: skip
    assert answer.stdout.strip() == "FITS"
