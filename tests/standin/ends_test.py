"""vramfit run: however a script ends, what it wrote is gone, and where it cannot begin is said."""

import os
import signal
import subprocess
import sys
import time

import pytest
from stood_in import EXACT, PACKAGE, needs_torch

pytestmark = needs_torch


@pytest.fixture
def run(tmp_path):
    def run(script, **variables):
        file = tmp_path / "train.py"
        file.write_text(script)
        return subprocess.run(
            [sys.executable, "-m", "vramfit", "run", "--gpu", "rtx4090", "--", EXACT, file],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PACKAGE), **variables},
            check=False,
            timeout=300,
        )

    return run


SAVES = """
import os, signal, sys, torch
weights = {"weight": torch.empty(2000, 2000, device="cuda")}
torch.save(weights, "weights.pt")
assert os.path.exists("weights.pt")
"""


@pytest.mark.parametrize(
    "end",
    ["", "raise ValueError", "os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)"],
    ids=["by itself", "failed", "at once", "killed"],
)
def test_what_it_wrote_is_gone(run, tmp_path, end):
    ran = run(SAVES + end)
    assert ran.returncode == (0 if not end else 3), ran.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_it_wrote_is_gone_where_the_command_is_ended(tmp_path, number):
    file = tmp_path / "train.py"
    file.write_text(SAVES + "import time; time.sleep(60)")
    command = subprocess.Popen(
        [sys.executable, "-m", "vramfit", "run", "--gpu", "rtx4090", "--", EXACT, file],
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )
    for _ in range(600):
        if (tmp_path / "weights.pt").exists():
            break
        time.sleep(0.1)
    assert (tmp_path / "weights.pt").exists()
    command.send_signal(number)
    assert command.wait(timeout=30) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["train.py"]


def test_a_process_that_outlives_the_run_is_let_be(run, tmp_path):
    ran = run(
        SAVES
        + """
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    import time
    time.sleep(4)
    torch.save(weights, "later.pt")
    open("went on", "w").close()
    os._exit(0)
"""
    )
    assert ran.returncode == 0, ran.stderr
    for _ in range(100):
        if (tmp_path / "went on").exists():
            break
        time.sleep(0.1)
    assert (tmp_path / "went on").exists()


def said(ran) -> str:
    assert ran.returncode == 2, ran.stderr
    lines = [line for line in ran.stderr.splitlines() if line.startswith("vramfit: error: ")]
    assert len(lines) == 1, ran.stderr
    return lines[0]


def test_a_script_that_starts_the_stand_in_itself(run):
    ran = run("import vramfit.standin\nvramfit.standin.start(gpu='rtx4090')\nimport torch\n")
    assert "vramfit run has started the stand-in: leave out one of them" in said(ran)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("noexec,size=64m", "is mounted noexec, so that no library is loaded from it"),
        ("size=60k", "set TMPDIR to a folder that has room"),
    ],
)
def test_a_folder_for_temporary_files_that_cannot_be_used(run, tmp_path, options, says):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        ran = run(SAVES, TMPDIR=str(small))
        line = said(ran)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)
    assert says in line
