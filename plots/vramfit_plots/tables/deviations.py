"""Why prediction and article differ, a figure a line: the parameter count, and the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell, Split, split
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, PREDICTED, Source
from vramfit_plots.tables.article_table import Spoken
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.units import gb, number, percent

_NOTE = (
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


def deviations(
    inputs: Inputs, spoken: Spoken, head: str, model: str, lines: Sequence[Line]
) -> Table:
    """B/param beside the article's figures is by its own count. What is not predicted has no
    line."""
    counts = {
        ARTICLE: inputs.article.assumed_parameters()[model],
        PREDICTED: inputs.models[model].parameters,
    }

    def figure(source: Source) -> Column:
        def text(found: tuple[Line, Split]) -> str:
            value = found[0].cell.figure(source)
            return f"{gb(value, 2)}\n{number(value / counts[source], 2)}"

        return Column(f"{source.heading}\nGB, B/param", text)

    def part(heading: str, of: str) -> Column:
        def text(found: tuple[Line, Split]) -> str:
            value, printed = getattr(found[1], of), found[0].cell.figure(ARTICLE)
            return f"{gb(value, 2, signed=True)}\n{percent(value / printed)}"

        return Column(heading, text)

    columns = (
        Column(head, lambda found: found[0].head),
        figure(ARTICLE),
        figure(PREDICTED),
        part("deviation\nGB, %", "total"),
        part("by the count", "parameter_count"),
        part("the rest", "rest"),
    )
    found = [(line, split(line.cell, line.proportional, *counts.values())) for line in lines]
    items = [(line, parts) for line, parts in found if parts and line.cell.figure(ARTICLE)]
    below = caption(inputs, spoken.pattern, f"{spoken.note} {_NOTE}")
    return listing(spoken.key, spoken.title, columns, items, below)
