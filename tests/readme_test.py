"""README.md shows what the commands print: each `$ build/fit …` in it is run and compared."""

import re
import subprocess

import pytest
from built import ROOT, program

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


def test_there_are_examples():
    assert len(examples()) >= 3


@pytest.mark.parametrize(("arguments", "shown"), examples())
def test_readme_shows_what_fit_prints(arguments, shown):
    run = subprocess.run(
        [program("fit"), *arguments.split()], capture_output=True, text=True, check=False
    )
    printed = run.stdout.splitlines()
    if shown[-1] == THE_REST:
        shown = shown[:-1]
        printed = printed[: len(shown)]
    assert printed == shown
