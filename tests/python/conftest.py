"""The package, and what other tests have, on Python's path."""

import os
import subprocess
import sys

import pytest
from dry_runs import SCRIPT
from installed import PACKAGE, ROOT

if not (PACKAGE / "vramfit").is_dir():
    raise FileNotFoundError(f"{PACKAGE}/vramfit: make wheel puts it there")
sys.path[:0] = [str(PACKAGE), str(ROOT / "tests" / "fuzz"), str(ROOT / "tests")]


@pytest.fixture
def run(tmp_path):
    """vramfit run of a script that leaves what it `took`, with an `end` of its own."""

    def run(*flags, took=(), end="", command=None, card=("--gpu", "rtx4090"), **variables):
        script = tmp_path / "train.py"
        script.write_text(SCRIPT.format(took=list(took), end=end))
        line = [sys.executable, "-m", "vramfit", "run", *card, *map(str, flags)]
        line += ["--", *(command or [sys.executable, str(script)])]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), **variables}
        return subprocess.run(line, capture_output=True, text=True, env=environment, check=False)

    return run
