"""README.md shows what the commands print: each question in it is asked and compared."""

import re
import shlex
import subprocess

import pytest
from built import ROOT, program

EXAMPLE = re.compile(
    r"^    \$ vramfit (?!run |record |--tape my)(?P<arguments>.*)\n"
    r"(?P<output>(?:    .*\n|\n(?=    ))*)",
    re.MULTILINE,
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


def parts(shown: list[str]) -> list[list[str]]:
    """What stands between the marks for what is left out."""
    lists: list[list[str]] = [[]]
    for line in shown:
        if line == THE_REST:
            lists.append([])
        else:
            lists[-1].append(line)
    return lists


@pytest.mark.parametrize(("arguments", "shown"), examples())
def test_readme_shows_what_fit_prints(arguments, shown):
    run = subprocess.run(
        [program("fit"), *shlex.split(arguments)], capture_output=True, text=True, check=False
    )
    printed = run.stdout.splitlines()
    first, *others = parts(shown)
    assert printed[: len(first)] == first
    if not others:
        assert printed == first
    for part in others:
        starts = [at for at in range(len(printed) + 1) if printed[at : at + len(part)] == part]
        assert starts, part


def test_readme_has_the_figures_of_the_accuracy():
    """docs/accuracy.md is compared with what is measured."""
    text = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    assert len(rows) >= 5
    of_docs = (ROOT / "docs" / "accuracy.md").read_text().replace("\xa0", " ").splitlines()
    for name, *figures in rows:
        by = name.partition(",")[0]
        (line,) = [
            row
            for row in of_docs
            if row.startswith(f"| {by}") and "of the same" not in row and "on the same" not in row
        ]
        assert all(f" {figure} |" in line for figure in figures), (name, figures, line)


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200
