"""Fragments and pictures are found by their names: docs/report.md lists all, and none may go."""

import re

from vramfit_plots.files import data_dir


def listed(kind: str) -> set[str]:
    """The names in the first column of the table that begins with `kind`."""
    text = (data_dir().parent / "docs" / "report.md").read_text()
    table = text[text.index(f"| {kind}, ") :].split("\n\n")[0]
    return {
        name
        for row in table.splitlines()[2:]
        for name in re.findall(r"`(\w+)`", row[: row.index(" | ")])
    }


def test_topics_are_the_programs_to_ask():
    """What they stand on knows nothing of them."""
    folder = data_dir().parent / "plots" / "vramfit_plots"
    every = [path for path in folder.rglob("*.py") if path.parent.name != "topics"]
    asking = {path for path in every if "vramfit_plots.topics" in path.read_text()}
    assert {path.name for path in asking} == {"report.py", "accuracy_report.py"}


def test_every_fragment_is_listed_and_there(full):
    for suffix in (".html", ".md"):
        written = {path.stem for path in (full / "fragments").glob(f"*{suffix}")}
        assert written == listed("fragment")


def test_every_picture_is_listed_and_there(full):
    for suffix in (".png", ".svg"):
        written = {path.stem for path in (full / "figures").glob(f"*{suffix}")}
        assert written == listed("picture")
    kept = {path.stem for path in (data_dir().parent / "plots" / "pictures").glob("*.png")}
    others = {"run", "league", "overview", "architecture"}  # each by a target of make
    assert kept <= listed("picture") | others
    assert "article" in kept
