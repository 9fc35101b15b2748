"""Which of several cards scripts/pytorch/facts.py describes, with a stand-in for torch."""

import json
import subprocess
import sys

import pytest
from built import ROOT

SMI = """#!/bin/sh
echo 'GPU-aaaa-1, 590.1, 900'
echo 'GPU-bbbb-2, 590.1, 7'
"""


@pytest.mark.parametrize(
    ("said", "held"),
    [
        ({}, 900),
        ({"STAND_IN_UUID": "bbbb-2"}, 7),
        ({"STAND_IN_UUID": "aaaa-1", "CUDA_VISIBLE_DEVICES": "1,0"}, 900),
        ({"CUDA_VISIBLE_DEVICES": "1"}, 7),
        ({"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}, 7),
        ({"CUDA_VISIBLE_DEVICES": "9"}, 0),
    ],
)
def test_neighbours_are_those_of_the_card_that_torch_uses(tmp_path, said, held):
    smi = tmp_path / "nvidia-smi"
    smi.write_text(SMI)
    smi.chmod(0o755)
    stand_in = ROOT / "tests/fixtures/torch_stand_in"
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(stand_in), **said}
    run = subprocess.run(
        [sys.executable, ROOT / "scripts/pytorch/facts.py"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    facts = json.loads(run.stdout)
    assert facts["held_mib"] == held
    assert facts["driver"] == "590.1"
