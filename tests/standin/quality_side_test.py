"""PyTorch beside `quality train`: from the same weights over the same windows it has the same
losses."""

import json
import random
import struct
import subprocess

import pytest
from built import program
from stood_in import ROOT, needs_torch, play

pytestmark = needs_torch
SIDE = ROOT / "scripts" / "quality" / "pytorch_side.py"
CONFIG = ROOT / "tests" / "fixtures" / "tiny-gpt2" / "config.json"
STEPS = 25


def text(path, count=2000, vocabulary=67):
    """In which each token mostly says the next."""
    dice, tokens = random.Random(1), [1]
    for _ in range(count):
        follows = dice.random() < 0.8
        tokens.append((tokens[-1] * 7 + 3) % vocabulary if follows else dice.randrange(vocabulary))
    path.write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
    return path


def losses(path):
    said = [json.loads(line) for line in path.read_text().splitlines()]
    return [line["loss"] for line in said if "loss" in line]


@pytest.mark.parametrize(
    ("precision", "optimizer", "near"), [("fp32", "adamw", 2e-6), ("bf16", "adamw-master", 5e-3)]
)
def test_losses_are_the_same(tmp_path, precision, optimizer, near):
    tokens = text(tmp_path / "text.u16")
    size = [f"--config={CONFIG}", "--batch=4", "--seq=16", f"--steps={STEPS}"]

    def quality(command, *flags):
        line = [program("quality"), command, *size, f"--text={tokens}", *flags]
        subprocess.run(line, check=True, capture_output=True)

    def train(name, *flags):
        course = [
            f"--held-out={tokens}",
            "--device=cpu",
            "--learning-rate=0.01",
            "--warm-up=5",
            f"--precision={precision}",
            f"--optimizer={optimizer}",
            f"--checkpoint={tmp_path / name}",
            f"--log={tmp_path / name}.jsonl",
        ]
        quality("train", *course, *flags)

    train("start", "--stop-after=0")
    train("whole")
    quality("batches", f"--out={tmp_path / 'batches'}")
    flags = [
        *size,
        f"--start={tmp_path / 'start'}",
        f"--batches={tmp_path / 'batches'}",
        f"--rates={tmp_path / 'whole.jsonl'}",
        f"--log={tmp_path / 'theirs.jsonl'}",
        f"--precision={precision}",
        "--micro=2",
        "--device=cpu",
    ]
    play(
        f"import runpy, sys; sys.argv = ['side', *{flags!r}]\n"
        f"runpy.run_path({str(SIDE)!r}, run_name='__main__'); print('null')"
    )
    ours, theirs = losses(tmp_path / "whole.jsonl"), losses(tmp_path / "theirs.jsonl")
    assert len(theirs) == STEPS
    assert theirs == pytest.approx(ours, rel=near)
    assert theirs[-1] < 0.85 * theirs[0]
