"""Scripts refuse what they cannot use in a line, whatever this machine has to run them with."""

import subprocess
import sys

import pytest
from built import ROOT

COMMANDS = {
    "compare_pytorch.py": ["--cases=/nowhere.json", "--runs=/dev/null/runs"],
    "measure_pytorch.py": ["--cases=/nowhere.json", "--out=/dev/null/out"],
    "record_allocator.py": ["/nowhere.json", "/dev/null/out"],
    "record_ops.py": ["/nowhere.json", "/dev/null/out"],
    "totals.py": ["/proc/self/mem"],
}


@pytest.mark.parametrize("script", COMMANDS)
def test_bad_input_is_a_line_and_exit_2(script):
    run = subprocess.run(
        [sys.executable, "-S", ROOT / "scripts" / script, *COMMANDS[script]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2, run.stderr
    (line,) = run.stderr.splitlines()
    assert ": error: " in line
    assert len(line) <= 200


def test_make_tables_hands_its_choices_on():
    """What it would run, without running it."""
    asked = ["make", "--dry-run", "tables", "SOURCE=predicted", "RUN=data/runs/x.json"]
    run = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "--measured data/runs/x.json --source predicted" in run.stdout
