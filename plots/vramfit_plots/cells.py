"""One figure of the article beside those that answer it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from vramfit_plots.sources import ARTICLE, PREDICTED, SOURCES, Source
from vramfit_plots.units import MISSING, NOT_YET, gb


@dataclass(frozen=True)
class Cell:
    """`figures` by source key: a number, in bytes where it is memory, or the article's text."""

    figures: Mapping[str, float | str | None]
    needs: str | None = None  # what has to be built before this can be predicted
    form: Callable[[float], str] = field(default=gb)

    def figure(self, source: Source) -> float | None:
        """The figure as a number, absent where it is none."""
        value = self.figures.get(source.key)
        return value if isinstance(value, (int, float)) else None

    def text(self, source: Source) -> str:
        value = self.figures.get(source.key)
        if isinstance(value, str):
            return value
        if value is not None:
            return self.form(value)
        return NOT_YET if source is PREDICTED and self.needs else MISSING

    def deviation(self, source: Source) -> float | None:
        """From the source's baseline, in the figure's unit."""
        own = self.figure(source)
        baseline = self.figures.get(source.baseline or "")
        if own is None or not isinstance(baseline, (int, float)):
            return None
        return own - baseline


def has_figures(cells: Collection[Cell], source: Source) -> bool:
    return any(cell.figures.get(source.key) is not None for cell in cells)


def sources_of(cells: Collection[Cell]) -> list[Source]:
    """The sources that these cells need columns for, in their fixed order."""
    return [source for source in SOURCES if source.always or has_figures(cells, source)]


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
    deviation = cell.deviation(PREDICTED)
    if deviation is None or cell.figure(ARTICLE) is None:
        return None
    parameter_count = proportional * (true / assumed - 1)
    return Split(parameter_count, deviation - parameter_count)
