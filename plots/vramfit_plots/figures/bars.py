"""Groups of horizontal bars, each with its figure at its end, in panels side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vramfit_plots.cells import Cell
from vramfit_plots.figures import style
from vramfit_plots.sources import ARTICLE, Source
from vramfit_plots.units import GB

_THICKNESS = 0.88  # of the place of a bar
_BETWEEN = 0.7  # of a bar's place, between two groups
_ROOM = 1.2  # for the figures at the bars' ends
_BAR_INCHES, _AROUND_INCHES = 0.2, 1.5


@dataclass(frozen=True)
class Bar:
    value: float  # bytes
    text: str
    look: style.Look
    strong: bool = False


@dataclass(frozen=True)
class Panel:
    title: str
    groups: Sequence[Sequence[Bar]]  # by name


def bars(cell: Cell, sources: Sequence[Source]) -> list[Bar]:
    """A bar for each figure that there is; the article's is the one to compare with."""
    return [
        Bar(value, cell.text(source), style.BY_SOURCE[source.key], strong=source is not ARTICLE)
        for source in sources
        if (value := cell.figure(source)) is not None
    ]


def _places(panels: Sequence[Panel]) -> tuple[list[float], list[float], float]:
    """In bars from the top: where each group begins, its middle, and where the last one ends. A
    group is as high as the most bars that a panel has in it."""
    starts, middles, at = [], [], 0.0
    for groups in zip(*(panel.groups for panel in panels), strict=True):
        height = max(len(group) for group in groups)
        starts.append(at)
        middles.append(at + height / 2)
        at += height + _BETWEEN
    return starts, middles, at - _BETWEEN


def draw_panels(every: Sequence[Axes], names: Sequence[str], panels: Sequence[Panel]) -> None:
    """`names` from the top down; the axes share both scales."""
    starts, middles, end = _places(panels)
    for axes, panel in zip(every, panels, strict=True):
        for start, group in zip(starts, panel.groups, strict=True):
            for j, one in enumerate(group):
                length, y = one.value / GB, start + j + 0.5
                axes.barh(y, length, _THICKNESS, **one.look.bar())
                at, away = (length, y), (4, 0)
                style.say(axes, one.text, at, away, va="center", strong=one.strong)
        axes.set_title(panel.title)
        axes.tick_params(length=0)
        axes.spines["left"].set_color(style.INK)
    for axes in every:
        axes.set_yticks(middles, names if axes is every[0] else [""] * len(names))
        axes.set_ylim(end + _BETWEEN / 2, -_BETWEEN / 2)
    longest = max((bar.value for p in panels for group in p.groups for bar in group), default=GB)
    for axes in every:
        axes.set_xlim(0, _ROOM * longest / GB)


def draw(
    headline: str,
    names: Sequence[str],
    panels: Sequence[Panel],
    legend: Sequence[tuple[str, style.Look]],
    axis_label: str,
) -> Figure:
    """In a group, bars in the legend's order."""
    *_, end = _places(panels)
    figure = style.new_figure(_AROUND_INCHES + _BAR_INCHES * end, headline)
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    draw_panels(every, names, panels)
    for axes in every:
        axes.set_xlabel(axis_label)
    style.key(figure, [(name, look.patch()) for name, look in legend], len(legend))
    return figure
