"""A table of the article twice: with its own columns and one source of figures, so that it stands
alone wherever it is pasted; and by source, each in its own column."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vramfit_plots.captions import caption, said
from vramfit_plots.cells import Cell, has_figures, sources_of
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import STAND_INS, Source
from vramfit_plots.tables.footnotes import Footnotes
from vramfit_plots.tables.table import Table

Entry = Cell | str


def main_source(inputs: Inputs, cells: Collection[Cell]) -> Source:
    """The one that was asked for, where it has any of these figures; else the next best."""
    for source in (inputs.source, *STAND_INS):
        if has_figures(cells, source):
            return source
    return inputs.source


@dataclass(frozen=True)
class Spoken:
    """What is said about a table."""

    key: str
    title: str
    unit: str  # "GB (1e9 bytes) allocated."
    note: str  # what else there is to say
    pattern: str  # of the names of its rows


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def own_table(
    inputs: Inputs,
    spoken: Spoken,
    columns: list[str],
    rows: Sequence[Sequence[Entry]],
    text_columns: frozenset[int] = frozenset(),
) -> Table:
    """The article's columns, headings and order."""
    cells = [entry for row in rows for entry in row if isinstance(entry, Cell)]
    source, footnotes = main_source(inputs, cells), Footnotes()
    texts = [
        [footnotes.best(entry, source) if isinstance(entry, Cell) else entry for entry in row]
        for row in rows
    ]
    whose = said(inputs, source)
    whose = f"{whose[0].upper()}{whose[1:]}."
    note = _joined(spoken.unit, whose, footnotes.text, spoken.note)
    said_below = caption(inputs, spoken.pattern, note)
    return Table(spoken.key, spoken.title, columns, texts, said_below, text_columns)


@dataclass(frozen=True)
class Line:
    head: str
    cell: Cell


def by_source(inputs: Inputs, spoken: Spoken, heads: str, lines: Sequence[Line]) -> Table:
    """A figure a line. `heads` is the first column's heading."""
    sources, footnotes = sources_of([line.cell for line in lines]), Footnotes()
    rows = [[line.head, *(footnotes.of(line.cell, source) for source in sources)] for line in lines]
    note = _joined(spoken.unit, footnotes.text, spoken.note)
    headings = [heads, *(source.heading for source in sources)]
    said_below = caption(inputs, spoken.pattern, note)
    return Table(spoken.key, spoken.title, headings, rows, said_below)
