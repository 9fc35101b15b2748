"""docs/tutorial.md: its script is the one beside it, and runs of it print what the page and README
show. But for --advise, which takes minutes, and what it shows nothing of."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest
from shown import assert_shows, commands
from stood_in import PACKAGE, ROOT, forked, needs_torch

PAGE = ROOT / "docs" / "tutorial.md"
SCRIPT = ROOT / "docs" / "tutorial" / "train.py"
RUNS = [
    (arguments, shown)
    for arguments, shown in commands(PAGE)
    if arguments.startswith("run ") and "--advise" not in arguments and shown
]


def printed(folder, arguments: str) -> list[str]:
    shutil.copy(SCRIPT, folder)
    (folder / "python").symlink_to(forked())
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        [sys.executable, "-m", "vramfit", *shlex.split(arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), "HF_HUB_OFFLINE": "1", "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.stdout, run.stderr[-3000:]
    return run.stdout.splitlines()


def test_the_page_shows_the_script():
    lines = SCRIPT.read_text().splitlines()
    assert "".join(f"    {line}\n" if line else "\n" for line in lines) in PAGE.read_text()


@needs_torch
@pytest.mark.parametrize(("arguments", "shown"), RUNS)
def test_it_prints_what_is_shown(tmp_path, arguments, shown):
    lines = printed(tmp_path, arguments)
    assert_shows(lines, shown)
    for asked, of_readme in commands(ROOT / "README.md"):
        if asked == arguments.replace("--top 4 ", ""):
            assert_shows(lines, of_readme)


def test_readme_runs_the_script_of_the_page():
    asked = [arguments.replace("--top 4 ", "") for arguments, _ in RUNS]
    assert [a for a, _ in commands(ROOT / "README.md") if a.startswith("run ")] == asked[:1]
