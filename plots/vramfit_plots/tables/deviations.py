"""Why prediction and article differ, a figure a line: the parameter count, and the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

from vramfit_plots.cells import Cell, split
from vramfit_plots.sources import ARTICLE, PREDICTED
from vramfit_plots.units import gb, number, percent

NOTE = (
    "A deviation from the article has two parts: what the article's rounded parameter count "
    "explains, and the rest, which the step itself does differently. Percentages are of the "
    "article's figure."
)


@dataclass(frozen=True)
class Line:
    """`proportional`: the bytes of the article's figure that grow with the parameter count."""

    head: str
    cell: Cell
    proportional: float = 0.0


def headings(first: str) -> list[str]:
    figures = [f"{source.heading}\nGB, B/param" for source in (ARTICLE, PREDICTED)]
    return [first, *figures, "deviation\nGB, %", "by the count", "the rest"]


def _figure(value: float, parameters: float) -> str:
    """GB and, below, bytes a parameter."""
    return f"{gb(value, 2)}\n{number(value / parameters, 2)}"


def rows(lines: Sequence[Line], assumed: float, true: float) -> list[list[str]]:
    """`assumed` and `true` parameter counts: the article's and the model's. B/param beside the
    article's figures is by its own count. What is not predicted has no line."""
    result = []
    for line in lines:
        parts = split(line.cell, line.proportional, assumed, true)
        printed, predicted = line.cell.figure(ARTICLE), line.cell.figure(PREDICTED)
        if parts is None or not printed or predicted is None:
            continue
        shares = [
            f"{gb(part, 2, signed=True)}\n{percent(part / printed)}"
            for part in (parts.total, parts.parameter_count, parts.rest)
        ]
        result.append([line.head, _figure(printed, assumed), _figure(predicted, true), *shares])
    return result
