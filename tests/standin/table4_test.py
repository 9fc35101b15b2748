"""Table 4's 13B: what nobody measured is predicted, and PyTorch takes the same on the stand-in."""

import dataclasses
import json
import subprocess

import built
import pytest
from exact.cases import every_case, readings
from exact.standin import played
from stood_in import EXACT, needs_torch

CASES = {("ddp", 2), ("ddp", 4), ("fsdp", 2), ("fsdp", 4)}


@pytest.fixture(scope="module")
def taken():
    """By strategy and GPUs: what is allocated after each stage."""
    measured = next(case for case in every_case() if "llama2-13b/fsdp/gpus:4" in case.name)
    cases = [
        dataclasses.replace(measured, setting={**measured.setting, "strategy": s, "gpus": n})
        for s, n in sorted(CASES)
    ]
    lines = played(cases, EXACT, 1)
    found = ((case.setting, readings(lines[case.name]["result"])) for case in cases)
    return {(asked["strategy"], asked["gpus"]): read for asked, read in found}


@needs_torch
@pytest.mark.parametrize(("strategy", "gpus"), sorted(CASES))
def test_the_prediction_is_what_pytorch_takes(taken, strategy, gpus):
    asked = f"llama2-13b h200 --runtime pytorch --train --precision bf16 --optimizer adamw-fused \
      --batch 1 --seq 2048 --gpus {gpus} --strategy {strategy} --json"
    run = subprocess.run(
        [built.program("fit"), *asked.split()], capture_output=True, check=True, text=True
    )
    stages = json.loads(run.stdout)["stages"]
    predicted = {f"step{s['step']}.{s['name']}": s["after"] for s in stages if s["step"] == 1}
    read = taken[strategy, gpus]
    assert predicted
    assert predicted == {stage: read[stage]["alloc"] for stage in predicted}
