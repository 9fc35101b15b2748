"""A table of the article: with its own columns and one source of figures, so that it stands alone
wherever it is pasted; by source, each in its own column; and why prediction and article differ."""

from collections.abc import Collection, Sequence
from typing import Any

from vramfit_plots.captions import command, said
from vramfit_plots.cells import Cell, has_figures, sources_of, split
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, PREDICTED, STAND_INS, Source
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import MISSING, gb, number, percent
from vramfit_plots.words import title_and_note

_SIGNS = "†‡§¶"  # then doubled, tripled …, as printers do

Entry = Cell | str
Line = tuple[str, Cell]  # its head, and figures


class Footnotes:
    """Of one table: the same remark has the same sign."""

    def __init__(self) -> None:
        self._signs: dict[str, str] = {}

    def signed(self, figure: str, remark: str) -> str:
        times, which = divmod(len(self._signs), len(_SIGNS))
        sign = self._signs.setdefault(remark, _SIGNS[which] * (times + 1))
        return f"{figure}\N{NARROW NO-BREAK SPACE}{sign}"

    def of(self, cell: Cell, source: Source, remark: str | None = None) -> str:
        """The source's figure with its note, or another remark, and what is said below it; or that
        there is none."""
        note, text = remark or cell.notes.get(source.key), cell.text(source)
        if note and cell.has(source):
            text = self.signed(text, note)
        below = cell.below.get(source.key)
        return f"{text}\n{below}" if below else text

    def best(self, cell: Cell, source: Source) -> str:
        """The source's figure, or the next best with a remark that says whose it is."""
        other = cell.best(source)
        if other is None:
            return self.signed(MISSING, cell.missing) if cell.missing else MISSING
        if other is source:
            return self.of(cell, source)
        note = cell.notes.get(other.key)
        return self.of(cell, other, f"{other.heading}, {note}" if note else other.heading)

    @property
    def text(self) -> str:
        """A sentence for each sign."""
        return " ".join(f"{sign} {remark}." for remark, sign in self._signs.items())


def main_source(inputs: Inputs, cells: Collection[Cell]) -> Source:
    """The one that was asked for, where it has any of these figures; else the next best."""
    every = (inputs.source, *STAND_INS)
    return next((source for source in every if has_figures(cells, source)), inputs.source)


def own_table(
    inputs: Inputs,
    key: str,
    columns: list[str],
    rows: Sequence[Sequence[Entry]],
    pattern: str,
    *,
    text_columns: frozenset[int] = frozenset(),
    **figures: Any,
) -> Table:
    """The article's columns, headings and order. `pattern` is of the names of its rows."""
    cells = [entry for row in rows for entry in row if isinstance(entry, Cell)]
    source, footnotes = main_source(inputs, cells), Footnotes()
    texts = [
        [footnotes.best(entry, source) if isinstance(entry, Cell) else entry for entry in row]
        for row in rows
    ]
    whose = said(inputs, source)
    whose = f"{whose[0].upper()}{whose[1:]}."
    title, note = title_and_note(key, whose=whose, footnotes=footnotes.text, **figures)
    return Table(key, title, note, columns, texts, command(inputs, pattern), text_columns)


def by_source(
    inputs: Inputs, key: str, head: str, lines: Sequence[Line], pattern: str, **figures: Any
) -> Table:
    """A figure a line. `head` is the first column's heading."""
    sources, footnotes = sources_of([cell for _, cell in lines]), Footnotes()
    rows = [[head, *(footnotes.of(cell, source) for source in sources)] for head, cell in lines]
    headings = [head, *(source.heading for source in sources)]
    title, note = title_and_note(key, footnotes=footnotes.text, **figures)
    return Table(key, title, note, headings, rows, command(inputs, pattern))


def deviations(
    inputs: Inputs,
    key: str,
    head: str,
    model: str,
    lines: Sequence[tuple[str, Cell, float]],
    *,
    pattern: str,
    **figures: Any,
) -> Table:
    """The parameter count, and the rest. The last of a line is the bytes of the article's figure
    that grow with the parameter count. B/param beside the article's figures is by its own count.
    What is not predicted has no line."""
    counts = {
        ARTICLE: inputs.article.assumed_parameters()[model],
        PREDICTED: inputs.models[model].parameters,
    }
    found = [(head, cell, split(cell, grows, *counts.values())) for head, cell, grows in lines]

    def figure(source: Source) -> Column:
        def text(line: tuple[str, Cell, Any]) -> str:
            value = line[1].figure(source)
            return f"{gb(value, 2)}\n{number(value / counts[source], 2)}"

        return Column(f"{source.heading}\nGB, B/param", text)

    def part(heading: str, of: str) -> Column:
        def text(line: tuple[str, Cell, Any]) -> str:
            value = getattr(line[2], of)
            return f"{gb(value, 2, signed=True)}\n{percent(value / line[1].figure(ARTICLE))}"

        return Column(heading, text)

    columns = (
        Column(head, lambda line: line[0]),
        figure(ARTICLE),
        figure(PREDICTED),
        part("deviation\nGB, %", "total"),
        part("by the count", "parameter_count"),
        part("the rest", "rest"),
    )
    known = [line for line in found if line[2] and line[1].figure(ARTICLE)]
    return listing(key, columns, known, command(inputs, pattern), **figures)
