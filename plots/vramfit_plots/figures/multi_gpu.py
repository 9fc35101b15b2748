"""What each of several GPUs holds: the article's table, its code, and what is known."""

import textwrap
from collections.abc import Sequence

from vramfit_plots.captions import caption
from vramfit_plots.cells import remarks
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.figures.sides import sides
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, Source
from vramfit_plots.tables.multi_gpu import (
    PATTERN,
    by_the_code,
    bytes_per_parameter,
    cells,
    scaled_models,
)
from vramfit_plots.units import gb, in_words, number

CODE = style.Look("white", "", "#6e6e6e")
_NAME_WIDTH = 10  # characters


def groups(
    inputs: Inputs, column: int, gpus: int, sources: Sequence[Source]
) -> list[list[bars.Bar]]:
    """By strategy: the article's table, its code, then the others."""
    found = []
    for strategy, row in cells(inputs):
        coded = by_the_code(inputs, strategy, gpus)
        printed, *known = (bars.bars(row[column], [source]) for source in (ARTICLE, *sources))
        found.append(
            [*printed, bars.Bar(coded, gb(coded), CODE), *(b for one in known for b in one)]
        )
    return found


def finding(inputs: Inputs, shown: Sequence[Source]) -> str:
    """Who agrees with the article's table, and in which strategies."""
    printed, coded = bytes_per_parameter(inputs)
    known = [
        (strategy, source, cell.agrees(source))
        for strategy, row in cells(inputs)
        for cell in row
        for source in shown
        if cell.has(source)
    ]
    if known and all(agrees for *_, agrees in known):
        strategies = in_words(dict.fromkeys(strategy for strategy, *_ in known))
        who = dict.fromkeys(source.side for _, source, _ in known)
        hold = "holds" if len(who) == 1 else "hold"
        return (
            f"In {strategies} {in_words(who)} {hold} the {number(printed)} bytes a parameter of "
            f"the article's table, not the {number(coded)} of its code"
        )
    return (
        f"The article's table counts {number(printed)} bytes a parameter, its code {number(coded)}"
    )


def _signature(inputs: Inputs, shown: Sequence[Source]) -> str:
    """Its figures are of sources that may have nothing to do with the run."""
    whose = in_words([ARTICLE.heading, *(source.heading for source in shown)])
    every = [cell for _, row in cells(inputs) for cell in row]
    scales = any(cell.has(one) and one.key in cell.notes for cell in every for one in shown)
    models = in_words(scaled_models(inputs)) if scales else ""
    scaled = f"; {models} scaled to {inputs.article.multi_gpu['model']} by the parameters"
    return whose + scaled if models else whose


def draw(inputs: Inputs) -> Picture:
    article = inputs.article.multi_gpu
    by_strategy = cells(inputs)
    every = [cell for _, row in by_strategy for cell in row]
    shown = [source for source in sides(every) if source is not ARTICLE]
    gpus = [cell["gpus"] for cell in article["rows"][0]["cells"]]
    panels = [
        bars.Panel(article["columns"][1 + i], groups(inputs, i, count, shown))
        for i, count in enumerate(gpus)
    ]
    said = [
        f"{strategy}, {panel.title}: {', '.join(bar.text for bar in group)}"
        for panel in panels
        for (strategy, _), group in zip(by_strategy, panel.groups, strict=True)
    ]
    title = finding(inputs, shown)
    return Picture(
        key="multi_gpu",
        title=title,
        alt="Table, code, then measured. " + "; ".join(said) + " GB",
        caption=caption(
            inputs,
            PATTERN,
            "GB is 1e9 bytes: weights, gradients and optimizer states of each GPU. "
            f"{remarks(every, shown)}",
        ),
        figure=bars.draw(
            headline=title,
            names=[textwrap.fill(strategy, _NAME_WIDTH) for strategy, _ in by_strategy],
            panels=panels,
            legend=[
                ("article's table", style.ARTICLE),
                ("article's code", CODE),
                *((source.heading, style.BY_SOURCE[source.key]) for source in shown),
            ],
            axis_label="memory of each GPU, GB",
        ),
        signature=_signature(inputs, shown),
    )
