"""Scripts refuse what they cannot use in a line, whatever this machine has to run them with."""

import subprocess
import sys

import pytest
from built import ROOT

COMMANDS = {
    "compare_pytorch.py": ["--cases=/nowhere.json", "--runs=/dev/null/runs"],
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
