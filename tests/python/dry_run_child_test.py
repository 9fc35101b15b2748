"""What of vramfit run reaches the script, and its help: no torch is needed."""

import os
import subprocess
import sys

import pytest
from dry_runs import took
from installed import PACKAGE


def test_uploads(run):
    end = "print(os.environ['WANDB_MODE'], told['uploads'])"
    assert "disabled False" in run(took=[took()], end=end, WANDB_MODE="online").stdout
    ran = run("--uploads", took=[took()], end=end, WANDB_MODE="online")
    assert "online True" in ran.stdout


@pytest.mark.parametrize(("variables", "seed"), [({}, "0"), ({"PYTHONHASHSEED": "7"}, "7")])
def test_sets_have_one_order_each_time(run, monkeypatch, variables, seed):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    ran = run(took=[took()], end="print('seed', os.environ['PYTHONHASHSEED'])", **variables)
    assert f"seed {seed}\n" in ran.stdout


def test_settings_reach_the_script(run):
    end = "print([told[k] for k in ('steps', 'longest', 'records')], told['facts']['strict'])"
    assert "[None, False, False] False" in run(took=[took()], end=end).stdout
    ran = run("--steps", 3, "--longest", "--strict", took=[took()], end=end)
    assert "[3, True, False] True" in ran.stdout


def test_sitecustomize_of_others_runs_too(run, tmp_path):
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "sitecustomize.py").write_text("print('of others')")
    path = os.pathsep.join([str(PACKAGE), str(tmp_path / "others")])
    assert "of others\nof the script" in run(took=[took()], PYTHONPATH=path).stdout


def test_help():
    line = [sys.executable, "-m", "vramfit", "run", "--help"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    shown = subprocess.run(line, capture_output=True, text=True, env=environment, check=True)
    for flag in ("--gpu", "--gpus", "--steps", "--longest", "--band", "--strict", "--json"):
        assert flag in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100
