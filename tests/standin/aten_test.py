"""Each op of ATen's table, runtimes/pytorch/torch/aten, against PyTorch's own on the stand-in: what
comes and goes, in order."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from aten_calls import CALLS
from aten_draw import Draw
from aten_large import large_calls
from stood_in import ROOT, needs_torch, play

PROGRAM = Path(os.environ.get("VRAMFIT_ATEN_EVENTS") or ROOT / "build/cpu/bin/aten_events")
GPUS = "h200", "rtx4090"
# Of each op on each card; VRAMFIT_ATEN_CALLS=200 for a long run.
COUNT = int(os.environ.get("VRAMFIT_ATEN_CALLS", "12"))

needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")


def drawn(gpu):
    for name, makers in CALLS.items():
        for number in range(COUNT):
            draw = Draw(f"{name} {gpu} {number}")
            call = {"gpu": gpu, "op": name, "args": makers[number % len(makers)](draw)}
            if draw.maybe(0.2):
                call["autocast"] = "bfloat16"
            if draw.maybe(0.3):  # of several results
                call["roots"] = [draw.random.randrange(3)]
            yield call
    for name, arguments in large_calls():
        yield {"gpu": gpu, "op": name, "args": arguments}


def in_one_order(events):
    """What goes between two that come has no order."""
    result, gone = [], []
    for event in events:
        if event < 0:
            gone.append(event)
        else:
            result += [*sorted(gone), event]
            gone = []
    return result + sorted(gone)


def predicted(calls):
    lines = "".join(f"{json.dumps(call)}\n" for call in calls)
    ran = subprocess.run([PROGRAM], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def differences(calls, recorded, told):
    for call, real, ours in zip(calls, recorded, told, strict=True):
        if "failed" in real or "refused" in ours:
            continue
        for part in ("op", "drop", "backward"):
            if in_one_order(real[part]) != in_one_order(ours[part]):
                yield f"{json.dumps(call)}\n  {part}: {real[part]}\n  predicted {ours[part]}"
                break


@needs_program
def test_every_op_is_tested():
    names = subprocess.run([PROGRAM, "names"], capture_output=True, text=True, check=True)
    assert set(names.stdout.split()) - {"fresh"} == set(CALLS)


@needs_torch
@needs_program
@pytest.mark.parametrize("gpu", GPUS)
def test_ops_take_what_pytorchs_do(gpu, tmp_path):
    calls = list(drawn(gpu))
    file = tmp_path / "calls.jsonl"
    file.write_text("".join(f"{json.dumps(call)}\n" for call in calls))
    player = Path(__file__).with_name("aten_player.py").read_text()
    recorded = play(player, gpu=gpu, CALLS=str(file))
    told = predicted(calls)
    assert not list(differences(calls, recorded, told))
    # A test of nothing fails as well: of each op some call is one that PyTorch takes and we answer.
    tested = {
        call["op"]
        for call, real, ours in zip(calls, recorded, told, strict=True)
        if "failed" not in real and "refused" not in ours
    }
    assert tested == set(CALLS)
