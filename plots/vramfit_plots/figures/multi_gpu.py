"""What each of several GPUs holds, by the article's table and by its code."""

import textwrap

from vramfit_plots.captions import caption
from vramfit_plots.cells import sources_of
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE
from vramfit_plots.tables.multi_gpu import by_the_code, bytes_per_parameter, cells
from vramfit_plots.units import gb, number

_CODE = style.Look("white", "", "#6e6e6e")
_NAME_WIDTH = 10  # characters


def draw(inputs: Inputs) -> Picture:
    article = inputs.article.multi_gpu
    by_strategy = cells(inputs)
    every = [cell for _, row in by_strategy for cell in row]
    ours = [source for source in sources_of(every) if source is not ARTICLE]
    gpus = [cell["gpus"] for cell in article["rows"][0]["cells"]]

    panels, said = [], []
    for i, count in enumerate(gpus):
        groups = []
        for strategy, row in by_strategy:
            coded = by_the_code(inputs, strategy, count)
            groups.append(
                [
                    bars.bar(row[i], ARTICLE),
                    bars.Bar(coded, gb(coded), _CODE),
                    *(bars.bar(row[i], source) for source in ours),
                ]
            )
            said.append(
                f"{strategy}, {count} GPUs: table {row[i].text(ARTICLE)}, code {gb(coded)}, "
                + ", ".join(f"{source.heading} {row[i].text(source)}" for source in ours)
            )
        panels.append(bars.Panel(article["columns"][1 + i], groups))

    printed, coded = bytes_per_parameter(inputs)
    return Picture(
        key="multi_gpu",
        title=article["caption"],
        alt="; ".join(said) + " GB",
        caption=caption(
            inputs,
            every,
            "^MultiGpu/",
            f"GB is 1e9 bytes. The article's table counts {number(printed)} bytes a parameter, its "
            f"code {number(coded)}.",
        ),
        figure=bars.draw(
            names=[textwrap.fill(strategy, _NAME_WIDTH) for strategy, _ in by_strategy],
            panels=panels,
            legend=[
                ("article's table", style.ARTICLE),
                ("article's code", _CODE),
                *((source.heading, style.BY_SOURCE[source.key]) for source in ours),
            ],
            axis_label="memory of each GPU, GB",
        ),
    )
