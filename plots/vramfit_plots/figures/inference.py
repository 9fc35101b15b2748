"""Inference by precision: bars of the article, of vramfit and of PyTorch."""

from collections.abc import Sequence

from vramfit_plots.captions import caption, signature
from vramfit_plots.cells import Cell, has_figures
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.figures.sides import sides
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, PREDICTED
from vramfit_plots.tables.inference import cells, rows_pattern
from vramfit_plots.units import gb, number, percent


def finding(point: str, row: Sequence[Cell]) -> str:
    """How far what is known is off the article, at its last point."""
    ratios = [
        cell.figure(source) / printed - 1
        for cell in row
        if (printed := cell.figure(ARTICLE))
        for source in sides(row)
        if source is not ARTICLE and cell.figure(source) is not None
    ]
    low, high = min(ratios, default=0.0), max(ratios, default=0.0)
    if low >= 0:
        span = f"{number(100 * low)} to {percent(high, 0, signed=False)}"
        return f"At {point} every precision takes {span} more than the article says"
    span = f"{percent(low, 0)} to {percent(high, 0)}"
    return f"At {point} the article is off by {span}"


def draw(inputs: Inputs) -> Picture:
    article = inputs.article.inference
    by_precision = cells(inputs)
    every = [cell for _, row in by_precision for cell in row[1:]]
    if not has_figures(every, PREDICTED):
        raise AbsentError(f"a row {rows_pattern(inputs)}")
    shown = sides(every)
    points = [column.removeprefix("peak ") for column in article["columns"][2:]]
    panels = [
        bars.Panel(point, [bars.bars(row[1 + i], shown) for _, row in by_precision])
        for i, point in enumerate(points)
    ]
    said = [
        f"{precision}, {point}: "
        + ", ".join(f"{s.heading} {gb(cell.figure(s))}" for s in shown if cell.figure(s))
        for precision, row in by_precision
        for point, cell in zip(points, row[1:], strict=True)
    ]
    title = finding(points[-1], [row[-1] for _, row in by_precision])
    return Picture(
        key="inference",
        title=title,
        alt="; ".join(said) + " GB",
        caption=caption(
            inputs,
            rows_pattern(inputs),
            "GB is 1e9 bytes. PyTorch's INT8 and INT4 are bitsandbytes' INT8 and NF4.",
        ),
        figure=bars.draw(
            headline=title,
            names=[precision for precision, _ in by_precision],
            panels=panels,
            legend=[(source.heading, style.BY_SOURCE[source.key]) for source in shown],
            axis_label="peak memory allocated, GB",
        ),
        signature=signature(inputs),
    )
