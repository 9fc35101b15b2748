"""The wheel, by its file, in a fresh venv: a script runs on the stand-in that it holds."""

import os
import subprocess

import pytest
from stood_in import EXACT, ROOT, needs_torch

WHEELS = ROOT / "build" / "wheels"


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


def test_what_is_no_wheel_is_refused(tmp_path):
    assert try_wheel(tmp_path).returncode != 0
