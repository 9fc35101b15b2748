"""One figure of the article beside those that answer it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from vramfit_plots.sources import (
    ARTICLE,
    COUNTED,
    OURS,
    PREDICTED,
    SOURCES,
    STAND_INS,
    THEIRS,
    Source,
)
from vramfit_plots.units import MISSING, gb

NEAR = 0.05  # of the article's figure: one that is so near agrees with it

_SAME = 0.01  # figures closer than this, relative to the larger, agree


def differ(a: float, b: float, tolerance: float = _SAME) -> bool:
    return abs(a - b) > tolerance * max(abs(a), abs(b))


@dataclass(frozen=True)
class Cell:
    """`figures` by source key: a number, in bytes where it is memory, or the article's text."""

    figures: Mapping[str, float | str | None]
    form: Callable[[float], str] = field(default=gb)
    # By source key: in what its figure is of another case than the article's.
    notes: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""  # why no source has a figure, where none does
    # By source key: what is said below a figure, in small type.
    below: Mapping[str, str] = field(default_factory=dict)

    def figure(self, source: Source) -> float | None:
        """The figure as a number, absent where it is none."""
        value = self.figures.get(source.key)
        return value if isinstance(value, (int, float)) else None

    def text(self, source: Source) -> str:
        value = self.figures.get(source.key)
        if isinstance(value, str):
            return value
        return MISSING if value is None else self.form(value)

    def has(self, source: Source) -> bool:
        return self.figures.get(source.key) is not None

    def best(self, source: Source) -> Source | None:
        """`source` where it has the figure, else who stands in for it."""
        return next((one for one in (source, *STAND_INS) if self.has(one)), None)

    def agrees(self, source: Source) -> bool:
        """Whether the source's figure is near the article's; what is no number must be the same."""
        printed, found = self.figure(ARTICLE), self.figure(source)
        if printed is None or found is None:
            return self.has(source) and self.text(ARTICLE) == self.text(source)
        return abs(found - printed) <= NEAR * abs(printed)


def has_figures(cells: Collection[Cell], source: Source) -> bool:
    return any(cell.has(source) for cell in cells)


def sources_of(cells: Collection[Cell]) -> list[Source]:
    """The sources that these cells need columns for, in their fixed order."""
    return [source for source in SOURCES if has_figures(cells, source)]


def sides(cells: Collection[Cell]) -> list[Source]:
    """Who is drawn: the article, vramfit and PyTorch, each of the two as measured where it was,
    unless more is predicted."""
    chosen = [ARTICLE] if has_figures(cells, ARTICLE) else []
    for measured, predicted in (OURS, THEIRS):
        lacking = any(cell.has(predicted) and not cell.has(measured) for cell in cells)
        source = predicted if lacking else measured
        if has_figures(cells, source):
            chosen.append(source)
    return chosen


def remarks(cells: Collection[Cell], sources: Collection[Source]) -> str:
    """What footnotes say in a table, for a picture of these sources: of which other case a figure
    is, and why nobody has one."""
    found = []
    for source in sources:
        notes = [cell.notes.get(source.key) for cell in cells if cell.has(source)]
        said = "; ".join(dict.fromkeys(note for note in notes if note))
        found += [f"{source.heading}: {said}."] if said else []
    unknown = [cell.missing for cell in cells if not any(map(cell.has, COUNTED))]
    return " ".join([*found, *(f"{why}." for why in dict.fromkeys(unknown) if why)])


@dataclass(frozen=True)
class Split:
    """Why a prediction is not the article's figure. Bytes."""

    parameter_count: float  # the article rounds the number of parameters
    rest: float

    @property
    def total(self) -> float:
        return self.parameter_count + self.rest


def split(cell: Cell, proportional: float, assumed: float, true: float) -> Split | None:
    """`proportional` is the part of the article's figure that grows with the parameter count, in
    bytes, for the `assumed` count; the `true` count would make it another figure."""
    printed, predicted = cell.figure(ARTICLE), cell.figure(PREDICTED)
    if printed is None or predicted is None:
        return None
    parameter_count = proportional * (true / assumed - 1)
    return Split(parameter_count, predicted - printed - parameter_count)
