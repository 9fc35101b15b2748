"""docs/ci/memory.yml: what it runs, but for installing, as GitHub would, in a repository
of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from stood_in import EXACT, PACKAGE, ROOT, needs_torch
from with_pytest import pytest_packages

WORKFLOW = yaml.safe_load((ROOT / "docs" / "ci" / "memory.yml").read_text())
STEPS = WORKFLOW["jobs"]["memory"]["steps"]
RUN = [step for step in STEPS if "run" in step and step["name"] != "install"]

TRAIN = """
import sys

import torch

model = torch.nn.Sequential(*[torch.nn.Linear(2000, 2000) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(int(sys.argv[sys.argv.index("--max_steps") + 1])):
    model(torch.randn(64, 2000, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
KEPT = TRAIN.replace(
    "    optimizer.step",
    "    kept = [p.grad.double() for p in model.parameters()]\n    optimizer.step",
)
TESTS = """
import pytest
import torch


@pytest.mark.vram(gpu="rtx4090", max="2GB")
def test_it_fits():
    assert torch.ones(1000, device="cuda").is_cuda
"""


@pytest.fixture
def repository(tmp_path):
    """Of two commits: the script as it is merged, and as somebody changed it."""

    def repository(changed: str) -> tuple[Path, str]:
        folder = tmp_path / "repository"
        folder.mkdir()

        def git(*arguments: str) -> str:
            identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
            line = ["git", "-C", str(folder), *identity, *arguments]
            ran = subprocess.run(line, capture_output=True, text=True, check=True)
            return ran.stdout.strip()

        git("init", "--quiet")
        (folder / "test_memory.py").write_text(TESTS)
        for script in (TRAIN, changed):
            (folder / "train.py").write_text(script)
            git("add", ".")
            git("commit", "--quiet", "--allow-empty", "--message", "it")
        return folder, git("rev-parse", "HEAD^")

    return repository


def run_steps(folder: Path, base: str) -> tuple[dict[str, subprocess.CompletedProcess[str]], str]:
    """Until one fails; by name, and the summary."""
    bin_, summary = folder.parent / "bin", folder.parent / "summary"
    bin_.mkdir()
    tools = {
        "python": [EXACT],
        "vramfit": [sys.executable, "-m", "vramfit"],
        "vramfit-compare": [sys.executable, "-m", "vramfit", "compare"],
    }
    for name, command in tools.items():
        (bin_ / name).write_text(f'#!/bin/sh\nexec {" ".join(map(str, command))} "$@"\n')
        (bin_ / name).chmod(0o755)
    packages = [PACKAGE, pytest_packages(folder.parent / "packages")]
    ran = {}
    for step in RUN:
        ran[step["name"]] = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            capture_output=True,
            text=True,
            env={
                **os.environ,
                **WORKFLOW["env"],
                "BASE": base,
                "GITHUB_STEP_SUMMARY": str(summary),
                "GITHUB_WORKSPACE": str(folder),
                "RUNNER_TEMP": str(folder.parent),
                "PATH": f"{bin_}:{os.environ['PATH']}",
                "PYTHONPATH": os.pathsep.join(map(str, packages)),
            },
            check=False,
            timeout=300,
        )
        if ran[step["name"]].returncode != 0:
            break
    return ran, summary.read_text() if summary.exists() else ""


def test_it_installs_and_then_asks_about_memory():
    names = [step.get("name") for step in STEPS if "run" in step]
    assert names == [
        "install",
        "does it fit",
        "what it took before",
        "what moved",
        "tests that are marked vram",
    ]


@needs_torch
def test_a_change_that_takes_no_more_passes(repository):
    folder, base = repository(TRAIN + "print('done')\n")
    ran, summary = run_steps(folder, base)
    last = ran["tests that are marked vram"]
    assert last.returncode == 0, last.stdout + last.stderr
    assert "1 passed" in last.stdout
    assert "passes (1 same)" in summary
    assert (folder / "took" / "test_memory.py.test_it_fits.json").exists()


@needs_torch
def test_a_change_that_takes_more_fails_with_its_line(repository):
    folder, base = repository(KEPT)
    ran, summary = run_steps(folder, base)
    assert list(ran)[-1] == "what moved"
    moved = ran["what moved"]
    assert moved.returncode == 1
    assert "kept = [p.grad.double() for p in model.parameters()]" in moved.stdout
    assert "`kept = [p.grad.double() for p in model.parameters()]`" in summary


@needs_torch
def test_a_change_that_does_not_fit_fails_at_once(repository):
    folder, base = repository(TRAIN.replace("2000, 2000", "40000, 40000"))
    ran, _ = run_steps(folder, base)
    assert list(ran) == ["does it fit"]
    assert "OOM" in ran["does it fit"].stdout
