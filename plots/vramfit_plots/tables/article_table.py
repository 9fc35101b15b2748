"""A table of the article twice: with its own columns and one source of figures, so that it stands
alone wherever it is pasted; and by source, each in its own column."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vramfit_plots.captions import caption, said
from vramfit_plots.cells import Cell, has_figures, sources_of
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import STAND_INS, Source
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING

_SIGNS = "†‡§¶"  # then doubled, tripled …, as printers do


class Footnotes:
    """Of one table: the same remark has the same sign."""

    def __init__(self) -> None:
        self._signs: dict[str, str] = {}

    def signed(self, figure: str, remark: str) -> str:
        times, which = divmod(len(self._signs), len(_SIGNS))
        sign = self._signs.setdefault(remark, _SIGNS[which] * (times + 1))
        return f"{figure}\N{NARROW NO-BREAK SPACE}{sign}"

    def of(self, cell: Cell, source: Source) -> str:
        """The source's figure with what is said below it, or that there is none."""
        note, text = cell.notes.get(source.key), cell.text(source)
        if note and cell.has(source):
            text = self.signed(text, note)
        return _with_below(text, cell, source)

    def best(self, cell: Cell, source: Source) -> str:
        """The source's figure, or the next best with a remark that says whose it is."""
        other = cell.best(source)
        if other is None:
            return self.signed(MISSING, cell.missing) if cell.missing else MISSING
        if other is source:
            return self.of(cell, source)
        note = cell.notes.get(other.key)
        remark = f"{other.heading}, {note}" if note else other.heading
        return _with_below(self.signed(cell.text(other), remark), cell, other)

    @property
    def text(self) -> str:
        """A sentence for each sign."""
        return " ".join(f"{sign} {remark}." for remark, sign in self._signs.items())


def _with_below(text: str, cell: Cell, source: Source) -> str:
    said = cell.below.get(source.key)
    return f"{text}\n{said}" if said else text


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
