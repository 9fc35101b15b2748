"""The training waterfall: memory after each stage of step 1, beside the peak of later steps."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell, has_figures, sources_of
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import PREDICTED, Source
from vramfit_plots.tables.waterfall import peak_cell, row_name, stage_cells
from vramfit_plots.units import GB, gb

_GROUP = 0.84  # of the place between two stages
_BAR = 0.94  # of the place of a bar
_LEVEL_FIGURES = 2  # more bars in a group are too narrow for figures that lie
_LEAST_NAMED = 0.03  # of the peak: a thinner part has no room for its name


def _stages(axes: Axes, labels: Sequence[str], after: list[Cell], sources: list[Source]) -> None:
    thickness = _GROUP / len(sources)
    upright = len(sources) > _LEVEL_FIGURES
    for j, source in enumerate(sources):
        look = style.BY_SOURCE[source.key]
        for i, cell in enumerate(after):
            value, x = cell.figure(source), i + (j + 0.5) * thickness - _GROUP / 2
            if value is not None:
                axes.bar(x, value / GB, thickness * _BAR, **look.bar())
                style.say(
                    axes,
                    gb(value),
                    (x, value / GB),
                    (0, 2),
                    ha="center",
                    va="bottom",
                    strong=source is PREDICTED,
                    rotation=90 if upright else 0,
                )
        axes.bar(0, 0, label=source.heading, **look.bar())
    axes.set_xticks(range(len(labels)), [label.replace(" ", "\n", 1) for label in labels])
    axes.set_ylabel("memory allocated, GB")
    axes.set_title("Step 1, after each stage")
    axes.legend(loc="upper left")


def _peak(axes: Axes, inputs: Inputs, total: float) -> None:
    """What the peak is made of, each part with its name beside it."""
    row, bottom = row_name(inputs), 0.0
    for name, look in style.BY_CATEGORY.items():
        value = inputs.value(row, f"{PREDICTED.prefix}{name}") or 0.0
        if value > 0:
            axes.bar(0, value / GB, 0.6, bottom / GB, **look.bar())
        if value > _LEAST_NAMED * total:
            middle = (0.3, (bottom + value / 2) / GB)
            style.say(axes, f"{name.replace('_', ' ')}\n{gb(value)}", middle, (5, 0), va="center")
        bottom += value
    style.say(axes, gb(total), (0, total / GB), (0, 2), ha="center", strong=True)
    where = inputs.peak_stage(row) or PREDICTED.heading
    axes.set_xticks([0], [where.replace(" of ", "\nof ")])
    axes.set_xlim(-0.45, 1.5)
    axes.set_title("Peak of all steps")


def draw(inputs: Inputs) -> Picture:
    row, after, peak = row_name(inputs), stage_cells(inputs), peak_cell(inputs)
    total = peak.figure(PREDICTED)
    if total is None or not has_figures(after, PREDICTED):
        raise AbsentError(row)
    sources = sources_of(after)
    labels = [entry["label"] for entry in inputs.article.waterfall["rows"]]

    figure = style.new_figure(4.2)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[2.9, 1])
    _stages(left, labels, after, sources)
    _peak(right, inputs, total)
    for axes in (left, right):
        style.level_grid(axes)
    figures = [cell.figure(source) or 0 for cell in after for source in sources]
    room = 1.08 if len(sources) <= _LEVEL_FIGURES else 1.15
    left.set_ylim(0, room * max([*figures, total]) / GB)

    said = [
        f"{label}: " + ", ".join(f"{s.heading} {cell.text(s)}" for s in sources)
        for label, cell in zip(labels, after, strict=True)
    ]
    return Picture(
        key="waterfall",
        title=inputs.article.waterfall["caption"],
        alt="; ".join(said) + f"; peak {gb(total)} GB, {inputs.peak_stage(row)}",
        caption=caption(
            inputs,
            [*after, peak],
            f"^{row}$",
            "GB is 1e9 bytes. Left: step 1, as in the article. Right: the predicted peak over all "
            "steps and what it is made of.",
        ),
        figure=figure,
    )
