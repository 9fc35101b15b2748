"""Inference by precision: bars of the article, predicted, and measured where there is any."""

from vramfit_plots.captions import caption
from vramfit_plots.cells import has_figures, sources_of
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import PREDICTED
from vramfit_plots.tables.inference import cells, rows_pattern


def draw(inputs: Inputs) -> Picture:
    article = inputs.article.inference
    by_precision = cells(inputs)
    every = [cell for _, row in by_precision for cell in row[1:]]
    if not has_figures(every, PREDICTED):
        raise AbsentError(f"a row {rows_pattern(inputs)}")
    sources = sources_of(every)
    points = article["columns"][2:]

    panels = [
        bars.Panel(
            point.removeprefix("peak "),
            [[bars.bar(row[1 + i], source) for source in sources] for _, row in by_precision],
        )
        for i, point in enumerate(points)
    ]
    said = [
        f"{precision}, {point}: " + ", ".join(f"{s.heading} {cell.text(s)}" for s in sources)
        for precision, row in by_precision
        for point, cell in zip(points, row[1:], strict=True)
    ]
    return Picture(
        key="inference",
        title=f"{article['caption']}: peak memory by precision",
        alt="; ".join(said) + " GB",
        caption=caption(inputs, every, rows_pattern(inputs), "GB is 1e9 bytes."),
        figure=bars.draw(
            names=[precision for precision, _ in by_precision],
            panels=panels,
            legend=[(source.heading, style.BY_SOURCE[source.key]) for source in sources],
            axis_label="peak memory allocated, GB",
        ),
    )
