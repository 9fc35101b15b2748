"""A table's figures one a line: what each source adds, and why prediction and article differ."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from vramfit_plots.cells import Cell, sources_of, split
from vramfit_plots.sources import ARTICLE, BY_KEY, PREDICTED, Source
from vramfit_plots.units import MISSING, gb, number, percent


@dataclass(frozen=True)
class Line:
    """`proportional`: the bytes of the article's figure that grow with the parameter count."""

    head: str
    cell: Cell
    proportional: float = 0.0


def _figure(cell: Cell, source: Source, parameters: float) -> str:
    """GB and, below, bytes a parameter."""
    value = cell.figure(source)
    if value is None:
        return cell.text(source)
    return f"{gb(value, 2)}\n{number(value / parameters, 2)}"


def _relative(deviation: float | None, baseline: float | str | None) -> str:
    if deviation is None or not isinstance(baseline, (int, float)) or baseline == 0:
        return MISSING
    return f"{gb(deviation, 2, signed=True)}\n{percent(deviation / baseline)}"


def headings(first: str, cells: Collection[Cell]) -> list[str]:
    result = [first]
    for source in sources_of(cells):
        result.append(f"{source.heading}\nGB, B/param")
        if source is PREDICTED:
            result += ["deviation", "by the count", "the rest"]
        elif source.baseline:
            result.append(f"{source.heading} against {BY_KEY[source.baseline].heading}")
    return result


def rows(lines: Sequence[Line], assumed: float, true: float) -> list[list[Cell | str]]:
    """`assumed` and `true` parameter counts: the article's and the model's. B/param beside the
    article's figures is by its own count."""
    sources = sources_of([line.cell for line in lines])
    result: list[list[Cell | str]] = []
    for line in lines:
        entries: list[Cell | str] = [line.head]
        for source in sources:
            entries.append(_figure(line.cell, source, assumed if source is ARTICLE else true))
            if source is ARTICLE:
                continue
            baseline = line.cell.figures.get(source.baseline or "")
            entries.append(_relative(line.cell.deviation(source), baseline))
            if source is PREDICTED:
                parts = split(line.cell, line.proportional, assumed, true)
                for part in (parts and parts.parameter_count, parts and parts.rest):
                    entries.append(_relative(part, baseline))
        result.append(entries)
    return result
