"""Where the article disagrees with itself, or with what was predicted or measured.

wrong.json has a row for each: its sentence is left out where the figures no longer disagree, and
its title is named where this run cannot tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vramfit_plots.cells import differ
from vramfit_plots.files import AbsentError, read_json
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.topics.wrong_figures import BY_NAME
from vramfit_plots.words import filled


@dataclass(frozen=True)
class Item:
    """A row of wrong.json."""

    title: str
    figures: str  # which function computes them
    apart: Sequence[tuple[str, str]]  # of these pairs one at least differs; none: any figures count
    text: str  # a sentence of them

    def said(self, inputs: Inputs) -> str | None:
        found = BY_NAME[self.figures](inputs)
        if self.apart and not any(differ(found[one], found[other]) for one, other in self.apart):
            return None
        return filled(self.text, found) if found else None


ITEMS = [Item(**row) for row in read_json(Path(__file__).with_suffix(".json"))]


@dataclass(frozen=True)
class Contradictions:
    found: list[tuple[str, str]]  # titles and sentences
    unknown: list[str]  # titles of items that need rows this run does not hold


def contradictions(inputs: Inputs) -> Contradictions:
    found, unknown = [], []
    for item in ITEMS:
        try:
            text = item.said(inputs)
        except AbsentError:
            unknown.append(item.title)
            continue
        if text is not None:
            found.append((item.title, text))
    return Contradictions(found, unknown)


def table(said: Contradictions) -> Table:
    columns = (
        Column("what", lambda item: item[0], text=True),
        Column("how", lambda item: item[1], text=True),
    )
    return listing("wrong", columns, said.found, unknown=", ".join(said.unknown))
