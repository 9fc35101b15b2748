"""Each op of ATen's table under other releases of PyTorch, against their own on the stand-in: what
runtimes/pytorch/torch/tensor/release_rules.cpp says of them. `make releases` makes environments."""

import json
from pathlib import Path

import pytest
from aten_test import differences, drawn, needs_program, predicted
from built import measured_release, releases
from releases.known import chosen
from stood_in import play

GPUS = "h200", "rtx4090", "b200"
WITH_CUTLASS = "h200", "b200"  # elsewhere grouped products are groups' own, and offsets are 0 here
OTHERS = [each["name"] for each in releases() if each["name"] != measured_release()["name"]]


@needs_program
@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", OTHERS)
def test_ops_take_what_that_releases_do(name, gpu, tmp_path):
    (release,) = chosen(f"torch-{name}")
    if not release.python.exists():
        pytest.skip(f"no torch: {release.python} is not there")
    calls = [
        {**call, "release": name}
        for call in drawn(gpu)
        if call["op"] != "_grouped_mm.default" or gpu in WITH_CUTLASS
    ]
    file = tmp_path / "calls.jsonl"
    file.write_text("".join(f"{json.dumps(call)}\n" for call in calls))
    player = Path(__file__).with_name("aten_player.py").read_text()
    recorded = play(player, python=release.python, gpu=gpu, CALLS=str(file))
    told = predicted(calls)
    assert not list(differences(calls, recorded, told))
    answered = [
        "failed" not in real and "refused" not in ours
        for real, ours in zip(recorded, told, strict=True)
    ]
    assert sum(answered) > len(answered) / 2
