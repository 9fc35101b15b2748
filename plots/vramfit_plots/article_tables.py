"""A table of the article: with its own columns and one source of figures, so that it stands alone
wherever it is pasted; by source, each in its own column; and why prediction and article differ."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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

    def best(self, cell: Cell, among: Sequence[Source]) -> str:
        """The first source's figure, or the next best with a remark that says whose it is."""
        other = next((source for source in among if cell.has(source)), None)
        if other is None:
            return self.signed(MISSING, cell.missing) if cell.missing else MISSING
        if other is among[0]:
            return self.of(cell, other)
        note = cell.notes.get(other.key)
        return self.of(cell, other, f"{other.heading}, {note}" if note else other.heading)

    @property
    def text(self) -> str:
        """A sentence for each sign."""
        return " ".join(f"{sign} {remark}." for remark, sign in self._signs.items())


def main_source(inputs: Inputs, cells: Collection[Cell]) -> Source:
    """The one that was asked for, where it has any of these figures; else the next best."""
    return _first((inputs.source, *STAND_INS), cells) or inputs.source


def _first(among: Sequence[Source], cells: Collection[Cell]) -> Source | None:
    return next((source for source in among if has_figures(cells, source)), None)


@dataclass(frozen=True)
class Own:
    """A table with the article's columns, headings and order, before it is said whose figures stand
    in it. `pattern` is of the names of its rows, `about` what its note speaks of."""

    key: str
    columns: list[str]
    rows: Sequence[Sequence[Entry]]
    pattern: str
    about: Mapping[str, Any]
    text_columns: frozenset[int] = frozenset()
    # Of figures that are kept, and say nothing of whose the others are.
    kept_columns: frozenset[int] = frozenset()

    @property
    def cells(self) -> list[Cell]:
        return [
            entry
            for row in self.rows
            for column, entry in enumerate(row)
            if isinstance(entry, Cell) and column not in self.kept_columns
        ]

    def table(self, inputs: Inputs) -> Table:
        """Of one source, others standing in: it stands alone wherever it is pasted."""
        source, footnotes = main_source(inputs, self.cells), Footnotes()
        texts = _texts(self.rows, (source, *STAND_INS), footnotes)
        whose = said(inputs, source)
        whose = f"{whose[0].upper()}{whose[1:]}."
        title, note = title_and_note(self.key, whose=whose, footnotes=footnotes.text, **self.about)
        rows = command(inputs, self.pattern)
        return Table(self.key, title, note, self.columns, texts, rows, self.text_columns)

    def beside(self, among: Sequence[Source]) -> Table | None:
        """The figures of the first of these that has any, the others standing in, to be set beside
        the same of others. None where none has any."""
        source = _first(among, self.cells)
        if source is None:
            return None
        printed = source is ARTICLE
        known = (ARTICLE,) if printed else (ARTICLE, *among)
        rows = [row for row in self.rows if _first(known, _cells(row))]
        shown = [j for j in range(len(self.columns)) if self._is_shown(j, known)]
        off = frozenset(
            (i, at)
            for i, row in enumerate(rows)
            for at, j in enumerate(shown)
            if j not in self.text_columns and _is_off(row[j], among)
        )
        footnotes = Footnotes()
        texts = _texts(rows, among[among.index(source) :], footnotes)
        return Table(
            self.key,
            "The article" if printed else source.heading,
            footnotes.text,
            [self.columns[j] for j in shown],
            [[row[j] for j in shown] for row in texts],
            text_columns=frozenset(at for at, j in enumerate(shown) if j in self.text_columns),
            marked=off,
        )

    def _is_shown(self, column: int, known: Sequence[Source]) -> bool:
        """Of figures that somebody has. What are the article's words alone need not stand beside
        them again."""
        found = [row[column] for row in self.rows if isinstance(row[column], Cell)]
        if not found:
            return column == 0 or known == (ARTICLE,)
        return _first(known, found) is not None

    def note(self) -> str:
        """What is said of the tables beside each other."""
        return title_and_note(self.key, whose="", footnotes="", **self.about)[1]


def _cells(row: Sequence[Entry]) -> list[Cell]:
    return [entry for entry in row if isinstance(entry, Cell)]


def _is_off(entry: Entry, among: Sequence[Source]) -> bool:
    """Whether the figure shown is far off the article's."""
    if not isinstance(entry, Cell) or not entry.has(ARTICLE):
        return False
    shown = next((source for source in among if entry.has(source)), None)
    return shown is not None and not entry.agrees(shown)


def _texts(
    rows: Sequence[Sequence[Entry]], among: Sequence[Source], footnotes: Footnotes
) -> list[list[str]]:
    return [
        [footnotes.best(entry, among) if isinstance(entry, Cell) else entry for entry in row]
        for row in rows
    ]


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
