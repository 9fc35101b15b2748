"""What several of these tests want."""

import json
import os
import subprocess
import sys

import pytest
from stood_in import EXACT, PACKAGE


@pytest.fixture
def run(tmp_path):
    """vramfit run as people use it, of a script's text; `answer`: what it says as JSON."""

    def run(script, *flags, gpu="rtx4090", before=(EXACT,), after=()):
        file = tmp_path / "train.py"
        file.write_text(script)
        card = () if gpu is None else ("--gpu", gpu)
        line = [sys.executable, "-m", "vramfit", "run", *card, "--json", "-", *flags, "--"]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "HF_HUB_OFFLINE": "1"}
        ran = subprocess.run(
            [*map(str, line), *map(str, before), str(file), *after],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
            timeout=300,
        )
        ran.answer = json.loads(ran.stdout) if ran.stdout else None
        return ran

    return run
