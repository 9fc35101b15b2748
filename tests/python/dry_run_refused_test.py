"""What vramfit run refuses, each in a line: no torch is needed."""

import os
import shutil
import subprocess
import sys

import pytest
from dry_runs import refused, took
from installed import PACKAGE


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--gpu", "rtx4091"], "did you mean 'rtx4090'"),
        (["--vram", "lots"], "vram: is 'lots'; a size such as 24GB"),
        (["--steps", "0"], "run: --steps: is '0'; a whole number from 1"),
        (["--gpus", "many"], "run: --gpus: is 'many'; a whole number from 1"),
        (["--json"], "run: --json: wants a value"),
        (["--frobnicate"], "run: no flag --frobnicate"),
        (["--step", "3"], "run: no flag --step"),
        (["python"], "-- goes before the command, 'python'"),
        (["--json", "/nowhere/at/all"], "'/nowhere/at/all' cannot be written"),
    ],
)
def test_bad_flags(run, arguments, says):
    card = () if "--vram" in arguments else ("--gpu", "rtx4090")
    assert says in refused(run(*arguments, card=card))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such-program"], "no program 'no-such-program'"),
        (["train.py"], "no program 'train.py'; python train.py, goes behind the --"),
        ([sys.executable, "nothere.py"], "no script 'nothere.py'"),
        ([sys.executable, "-X", "dev", "nothere.py"], "no script 'nothere.py'"),
        ([sys.executable, "-uW", "ignore", "nothere.py"], "no script 'nothere.py'"),
        ([sys.executable, "-Bm", "json.tool", "--help"], "never imported torch"),
        ([sys.executable, "-I", "-c", "1"], "python -I ignores PYTHONPATH"),
        ([sys.executable, "-uE", "-c", "1"], "python -E ignores PYTHONPATH"),
        ([sys.executable, "-S", "-c", "1"], "python -S leaves out sitecustomize"),
        (["true"], "'true' started no Python that vramfit reaches"),
        ([sys.executable, "-c", "1"], "never imported torch"),
    ],
)
def test_bad_commands(run, command, says):
    assert says in refused(run(command=command))


@pytest.mark.parametrize(("variable", "hides"), [("", True), ("2,0", True), ("1", False)])
def test_gpus_that_the_environment_hides(run, variable, hides):
    ran = run("--gpus", 2, took=[took()], CUDA_VISIBLE_DEVICES=variable)
    if hides:
        assert f"CUDA_VISIBLE_DEVICES={variable} hides all GPUs of --gpus 2" in refused(ran)
    else:
        assert ran.returncode == 0


def test_no_command():
    for arguments, says in (([], "no command"), (["--"], "nothing after --")):
        line = [sys.executable, "-m", "vramfit", "run", "--gpu", "rtx4090", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        ran = subprocess.run(line, capture_output=True, text=True, env=environment, check=False)
        assert says in refused(ran)


def test_a_python_without_torch(run):
    blocked = "sys.path[:] = [p for p in sys.path if 'packages' not in p]\nimport torch"
    ran = run(command=[sys.executable, "-c", f"import sys\n{blocked}"])
    assert f"{sys.executable} has no torch" in refused(ran)


def test_a_process_that_was_refused(run):
    end = "(settings.parent / '9.refused').write_text('it has a reason'); sys.exit(2)"
    assert "run: it has a reason" in refused(run(took=[took()], end=end))


@pytest.mark.parametrize(
    ("library", "says"),
    [(None, "this vramfit has no stand-in"), (b"of another system", "cannot load the stand-in: ")],
)
def test_a_stand_in_that_cannot_be_loaded(run, tmp_path, library, says):
    """As with a C library that is too old."""
    copied = tmp_path / "package"
    shutil.copytree(
        PACKAGE / "vramfit", copied / "vramfit", ignore=shutil.ignore_patterns("*_standin.so")
    )
    if library is not None:
        (copied / "vramfit" / "standin" / "libvramfit_standin.so").write_bytes(library)
    command = [sys.executable, "-c", "import torch"]
    assert says in refused(run(command=command, PYTHONPATH=str(copied)))


def test_a_script_without_a_gpu(run):
    assert "put nothing on a GPU" in refused(run(took=[took(uses_gpu=False, stages=[])]))
