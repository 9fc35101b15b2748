"""README.md and the pages for users show what the commands print: each question in them is asked
and compared. Scripts under `vramfit run` are tests/standin/tutorial_test.py's."""

import re
import shlex
import subprocess

import pytest
from built import ROOT, program
from overview.picture import told
from overview.points import every_runtime
from PIL import Image
from shown import assert_shows, commands

PAGES = ["README.md", "docs/fit.md", "docs/lora.md", "docs/serving.md"]
RUNS_A_SCRIPT = {"run", "record", "model"}
README = (ROOT / "README.md").read_text()


def questions() -> list[tuple[str, str, list[str]]]:
    return [
        (page, arguments, shown)
        for page in PAGES
        for arguments, shown in commands(ROOT / page)
        if arguments.split()[0] not in RUNS_A_SCRIPT and shown
    ]


@pytest.mark.parametrize("page", PAGES)
def test_there_are_questions(page):
    assert any(asked == page for asked, _, _ in questions())


@pytest.mark.parametrize(("page", "arguments", "shown"), questions())
def test_it_shows_what_is_printed(page, arguments, shown):
    run = subprocess.run(
        [program("fit"), *shlex.split(arguments)], capture_output=True, text=True, check=False
    )
    assert_shows(run.stdout.splitlines(), shown)


@pytest.fixture(scope="module")
def says():
    return told(every_runtime())


def test_the_figure_is_todays(says):
    """`make overview` draws it, and prints what README says of it."""
    figure = re.search(r"!\[(.*)\]\((plots/pictures/overview\.png)\)", README)
    assert figure[1] == says
    assert f"![{says}](../{figure[2]})" in (ROOT / "docs" / "accuracy.md").read_text()
    with Image.open(ROOT / figure[2]) as image:
        assert image.text["Description"] == says
        assert image.width == 2 * 830


def test_what_is_said_of_formulas_is_in_the_accuracy():
    """docs/accuracy.md is compared with what is measured."""
    said = re.search(r"off by (\d+) to (\d+) % \(median\).*up to (\d+)\s+times", README, re.DOTALL)
    lines = (ROOT / "docs" / "accuracy.md").read_text().replace("\xa0", " ").splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if " of " in line]
    rows = [row[1:-1] for row in rows if len(row) == 11 and row[3].endswith("%")]
    ours = [row for row in rows if row[0].startswith("vramfit")]
    others = [row for row in rows if row not in ours]
    medians = [round(float(row[2].removesuffix("%"))) for row in others]
    wrong = [int(row[8].partition(" of ")[0]) for row in others]
    assert (min(medians), max(medians), max(wrong)) == tuple(map(int, said.groups()))
    assert ours
    assert all(row[8].startswith("0 of ") for row in ours)


def test_readme_is_short():
    """The table has its lines as wide as they come."""
    assert len(README.splitlines()) <= 90
