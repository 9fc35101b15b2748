"""Groups of horizontal bars, each with its figure at its end, in panels side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from vramfit_plots.cells import Cell
from vramfit_plots.figures import style
from vramfit_plots.sources import PREDICTED, Source
from vramfit_plots.units import GB

_GROUP = 0.8  # of the place between two groups
_BAR = 0.92  # of the place of a bar
_ROOM = 1.2  # for the figures at the bars' ends
_LEGEND_COLUMNS = 4  # as many fit a line
_BAR_INCHES, _GROUP_INCHES, _AROUND_INCHES = 0.2, 0.12, 1.45


@dataclass(frozen=True)
class Bar:
    value: float | None  # bytes
    text: str  # "" for none
    look: style.Look
    strong: bool = False


@dataclass(frozen=True)
class Panel:
    title: str
    groups: Sequence[Sequence[Bar]]  # by name; as many bars in each


def bar(cell: Cell, source: Source) -> Bar:
    """A missing prediction says why; a missing figure of another source is no bar."""
    value = cell.figure(source)
    text = cell.text(source) if value is not None or source is PREDICTED else ""
    return Bar(value, text, style.BY_SOURCE[source.key], strong=source is PREDICTED)


def draw(
    names: Sequence[str],
    panels: Sequence[Panel],
    legend: Sequence[tuple[str, style.Look]],
    axis_label: str,
) -> Figure:
    """`names` from the top down; in a group, bars in the legend's order."""
    thickness = _GROUP / len(legend)
    group_inches = _BAR_INCHES * len(legend) + _GROUP_INCHES
    figure = style.new_figure(_AROUND_INCHES + group_inches * len(names))
    every = figure.subplots(1, len(panels), sharey=True, sharex=True)
    for axes, panel in zip(every, panels, strict=True):
        for i, group in enumerate(panel.groups):
            for j, one in enumerate(group):
                length, y = (one.value or 0) / GB, i + (j + 0.5) * thickness - _GROUP / 2
                if one.value is not None:
                    axes.barh(y, length, thickness * _BAR, **one.look.bar())
                style.say(
                    axes,
                    one.text,
                    (length, y),
                    (4, 0),
                    va="center",
                    strong=one.strong,
                    faint=one.value is None,
                )
        axes.set_title(panel.title)
        axes.set_xlabel(axis_label)
        axes.tick_params(length=0)
        axes.spines["left"].set_color(style.INK)
    every[0].set_yticks(range(len(names)), names)
    every[0].set_ylim(len(names) - 0.5, -0.5)
    longest = max(one.value or 0 for panel in panels for group in panel.groups for one in group)
    every[0].set_xlim(0, _ROOM * longest / GB)
    figure.legend(
        [Patch(**look.patch()) for _, look in legend],
        [name for name, _ in legend],
        ncols=len(legend) if len(legend) <= _LEGEND_COLUMNS else _LEGEND_COLUMNS - 1,
        loc="outside upper left",
    )
    return figure
