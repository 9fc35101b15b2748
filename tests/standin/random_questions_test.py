"""scripts/random_questions: how random questions are drawn, played and counted."""

import json
import os
import subprocess
import sys

import pytest
from random_questions.comparison import Sum, compared, kept, reasons, summed, told
from stood_in import EXACT, PACKAGE, ROOT, needs_torch

PLAYED = {
    "question": "1.h200.0",
    "type": "llama",
    "asked": {"train": True, "batch": 2, "padded": False},
    "config": {"model_type": "llama"},
    "peaks": {"1.forward": [1000, 2000], "1.backward": [4000, 5000]},
}


def test_an_answer_that_is_equal_says_no_more():
    line = compared(PLAYED, PLAYED["peaks"], "h200")
    assert line == {
        "question": "1.h200.0",
        "type": "llama",
        "asked": PLAYED["asked"],
        "card": "h200",
    }
    assert told(line) == ""


def test_one_that_is_not_says_where_and_by_how_much():
    line = compared(PLAYED, {"1.forward": [1000, 2002], "1.backward": [3996, 5000]}, "h200")
    assert line["off"] == {"1.forward": [0, 2], "1.backward": [-4, 0]}
    assert line["relative"] == pytest.approx([-0.001, 0])
    assert line["config"] == PLAYED["config"]
    assert told(line).endswith("1.forward +0 +2, 1.backward -4 +0")


def test_a_stage_that_fit_has_not_is_off():
    line = compared(PLAYED, {"1.backward": [4000, 5000]}, "h200")
    assert line["off"] == {"1.forward": [-1000, -2000]}


def test_refusals_and_failures_are_no_answers():
    equal = compared(PLAYED, PLAYED["peaks"], "h200")
    off = compared(PLAYED, {**PLAYED["peaks"], "1.backward": [4040, 5000]}, "h200")
    refused = compared(PLAYED, "quant: no", "h200")
    failed = compared({**PLAYED, "failed": "ValueError"}, "quant: no", "h200")
    total = summed([*[equal] * 30, off, refused, failed])
    assert (total.asked, total.answered, total.equal, total.types) == (33, 31, 30, 1)
    assert total.worst == pytest.approx((0.01, 0))
    assert not total.is_good  # 0.3 % at most
    assert summed([equal] * 20).is_good
    assert not summed([*[equal] * 9, *[failed] * 10]).is_good
    assert reasons([refused, failed]) == [
        "1 refused, llama: quant: no",
        "1 failed, llama: ValueError",
    ]


def test_the_kept_lines_hold_what_is_said_of_them():
    total = summed(kept())
    assert total.answered >= 250
    assert total.is_good
    assert str(total) in (ROOT / "docs" / "tapes.md").read_text()


@needs_torch
def test_questions_of_today(tmp_path):
    """Two of them: each card imports PyTorch anew."""
    asked = [sys.executable, "-m", "random_questions", "--count", "2", "--seed", "ci"]
    asked += ["--types", "qwen3_moe olmo3", "--out", tmp_path]
    path = f"{ROOT / 'scripts'}{os.pathsep}{PACKAGE}"
    environment = {**os.environ, "PYTHONPATH": path}
    ran = subprocess.run(
        [*asked, "--python", EXACT], capture_output=True, text=True, env=environment, check=False
    )
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    lines = [json.loads(line) for line in (tmp_path / "questions.jsonl").open()]
    total: Sum = summed(lines)
    assert (total.asked, total.answered, total.types) == (2, 2, 2)
