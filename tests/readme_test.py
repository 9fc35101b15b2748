"""README.md shows what the commands print: each `$ build/fit …` in it is run and compared."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(
    r"^    \$ build/fit (?P<arguments>.*)\n(?P<output>(?:    .*\n|\n(?=    ))*)", re.MULTILINE
)
THE_REST = "…"


def examples() -> list[tuple[str, list[str]]]:
    text = (ROOT / "README.md").read_text()
    return [
        (match["arguments"], [line[4:] for line in match["output"].splitlines()])
        for match in EXAMPLE.finditer(text)
    ]


def fit() -> Path:
    built = [ROOT / "build" / preset / "bin" / "fit" for preset in ("cuda", "cpu")]
    newest = max((p for p in built if p.exists()), key=lambda p: p.stat().st_mtime, default=None)
    assert newest is not None, "no fit was built: run `make test`, or `make build` first"
    return newest


def test_there_are_examples():
    assert len(examples()) >= 3


@pytest.mark.parametrize(("arguments", "shown"), examples())
def test_readme_shows_what_fit_prints(arguments, shown):
    run = subprocess.run([fit(), *arguments.split()], capture_output=True, text=True, check=False)
    printed = run.stdout.splitlines()
    if shown[-1] == THE_REST:
        shown = shown[:-1]
        printed = printed[: len(shown)]
    assert printed == shown
