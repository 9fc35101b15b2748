"""The wheel, by its file, in a fresh venv: a script runs on the stand-in that it holds."""

import os
import re
import subprocess
import zipfile

import pytest
from stood_in import EXACT, ROOT, needs_torch

WHEELS = ROOT / "build" / "wheels"
OLD = ROOT / "build" / "manylinux"


def try_wheel(*arguments) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / "try_wheel", *arguments],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@needs_torch
def test_a_script_runs_on_what_is_in_it():
    wheels = sorted(WHEELS.glob("vramfit-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        pytest.skip("no wheel: make wheel")
    ended = try_wheel(wheels[-1], EXACT)
    assert ended.returncode == 0, ended.stderr
    version, question, verdict = ended.stdout.splitlines()
    assert version.startswith("vramfit 0.")
    assert "bytes, by the command and from Python" in question
    assert verdict.startswith("FITS: ")


@needs_torch
def test_one_for_older_machines_asks_for_nothing_newer(tmp_path):
    wheels = sorted(OLD.glob("vramfit-*.whl"))
    if not wheels:
        pytest.skip("none: make manylinux")
    with zipfile.ZipFile(wheels[-1]) as wheel:
        names = [name for name in wheel.namelist() if name.endswith(".so")]
        wheel.extractall(tmp_path, names)
    assert len(names) == 2, "the module and the stand-in"
    for name in names:
        symbols = subprocess.run(
            ["objdump", "-T", tmp_path / name], capture_output=True, text=True, check=True
        ).stdout
        asked = {
            (int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)
        }
        assert (2, 2) <= max(asked) <= (2, 28), name
        assert "GLIBCXX" not in symbols, "a C++ library of its own"
    ended = try_wheel(wheels[-1], EXACT)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1].startswith("FITS: ")


def test_what_is_no_wheel_is_refused(tmp_path):
    assert try_wheel(tmp_path).returncode != 0
