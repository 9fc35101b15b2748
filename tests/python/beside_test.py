"""vramfit run --beside-real, but for the real run: what is compared, and what is refused."""

import os
import subprocess
import sys

import pytest
from installed import PACKAGE
from vramfit._dry_run import _beside


def stage(step, name, peak, reserved=0, used=0):
    return {
        "step": step, "name": name, "peak": peak, "peak_reserved": reserved,
        "peak_device_used": used,
    }  # fmt: skip


def held(component, line, size):
    return {
        "component": component, "line": line, "script": line, "in_backward": False,
        "bytes": size, "blocks": 1,
    }  # fmt: skip


def answer(peak, *holders):
    return {
        "ended": "steps",
        "levels": {"allocated": peak},
        "stages": [stage(0, "load", 100), stage(1, "forward", peak, 300, 400)],
        "holders_of_stages": [
            {"step": 0, "stage": "load", "holders": []},
            {"step": 1, "stage": "forward", "holders": list(holders)},
        ],
    }


def test_runs_that_take_the_same():
    one = answer(200, held("activations", "train.py:3", 100))
    compared = _beside.beside(one, one)
    assert compared["parts"] is None
    assert "as on the real GPU in all of them" in _beside.text(compared)


def test_the_line_where_they_part():
    same = held("parameters", "train.py:1", 100)
    compared = _beside.beside(
        answer(200, same, held("activations", "train.py:3", 100)),
        answer(170, same, held("activations", "train.py:3", 70)),
    )
    assert compared["stages"][1]["allocated"] == 30
    assert (compared["parts"]["step"], compared["parts"]["stage"]) == (1, "forward")
    assert [(line["line"], line["dry"], line["real"]) for line in compared["parts"]["lines"]] == [
        ("train.py:3", 100, 70)
    ]
    assert "they part in forward of step 1" in _beside.text(compared)
    assert "+30   activations, train.py:3" in _beside.text(compared)


def test_a_real_run_that_failed():
    real = {**answer(200), "ended": "failed"}
    told = _beside.text(_beside.beside(answer(200), real))
    assert "the real run failed" in told
    assert "in all of them" not in told


@pytest.mark.parametrize(
    "flags, why",
    [
        (["--gpu", "rtx4090"], "without --gpu"),
        (["--gpus", "2"], "one GPU"),
        (["--random-weights"], "without --random-weights"),
    ],
)
def test_what_it_is_not_for(flags, why):
    ran = subprocess.run(
        [sys.executable, "-m", "vramfit", "run", "--beside-real", *flags, "--", "true"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        check=False,
    )
    assert ran.returncode == 2
    assert why in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
