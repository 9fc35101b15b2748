"""Inference by precision: bars of the article, of vramfit and of PyTorch."""

from collections.abc import Mapping, Sequence

from vramfit_plots.captions import caption, signature
from vramfit_plots.cells import Cell, has_figures, remarks
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.figures.sides import sides
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, PREDICTED, Source
from vramfit_plots.tables.inference import all_cells, rows_pattern
from vramfit_plots.units import gb, in_words, number, percent


def finding(point: str, by_precision: Mapping[str, Cell], shown: Sequence[Source]) -> str:
    """How far what is known at a point is off the article, and of which precisions it is."""
    off = {
        precision: [value / printed - 1 for source in shown if (value := cell.figure(source))]
        for precision, cell in by_precision.items()
        if (printed := cell.figure(ARTICLE))
    }
    known = [precision for precision, ratios in off.items() if ratios]
    if not known:
        return f"The article alone has figures at {point}"
    every = [ratio for ratios in off.values() for ratio in ratios]
    low, high = min(every), max(every)
    which = "every precision" if len(known) == len(off) else in_words(known)
    one = len(known) in {1, len(off)}
    if low >= 0:
        span = f"{number(100 * low)} to {percent(high, 0, signed=False)}"
        return f"At {point} {which} {'takes' if one else 'take'} {span} more than the article says"
    span = f"{percent(low, 0)} to {percent(high, 0)}"
    return f"At {point} {which} {'differs' if one else 'differ'} from the article by {span}"


def draw(inputs: Inputs) -> Picture:
    article = inputs.article.inference
    by_precision = all_cells(inputs)
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
    others = [source for source in shown if source is not ARTICLE]
    title = finding(points[-1], {precision: row[-1] for precision, row in by_precision}, others)
    return Picture(
        key="inference",
        title=title,
        alt="; ".join(said) + " GB",
        caption=caption(
            inputs,
            rows_pattern(inputs),
            f"GB is 1e9 bytes. {remarks(every, shown)}".strip(),
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
