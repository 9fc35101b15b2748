"""Groups of horizontal bars, each with its figure at its end, in panels side by side."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vramfit_plots.cells import Cell
from vramfit_plots.figures import style
from vramfit_plots.sources import ARTICLE, Source
from vramfit_plots.units import GB

_THICKNESS = 0.88  # of the place of a bar
_BETWEEN, NARROW = 0.7, 0.6  # of a bar's place, between two groups
_ROOM = 1.2  # for the figures at the bars' ends
_BAR_INCHES, _AROUND_INCHES = 0.2, 1.5

T = TypeVar("T")


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


@dataclass(frozen=True)
class Places:
    """Of groups of bars, in bars from the top."""

    starts: Sequence[float]
    middles: Sequence[float]
    end: float
    between: float  # two groups

    def name(self, axes: Axes, names: Sequence[str], end: float | None = None) -> None:
        """The groups, in axes of that height or of another."""
        axes.set_yticks(self.middles, names)
        axes.set_ylim((end or self.end) + self.between / 2, -self.between / 2)


def places(heights: Iterable[int], between: float = NARROW) -> Places:
    """`heights` in bars."""
    starts, middles, at = [], [], 0.0
    for height in heights:
        starts.append(at)
        middles.append(at + height / 2)
        at += height + between
    return Places(starts, middles, at - between, between)


def each(groups: Iterable[Sequence[T]], at: Places) -> Iterator[tuple[float, T]]:
    """Every bar's middle, and what it is of."""
    for start, group in zip(at.starts, groups, strict=True):
        for j, one in enumerate(group):
            yield start + j + 0.5, one


def _common_places(panels: Sequence[Panel]) -> Places:
    """A group is as high as the most bars that a panel has in it."""
    together = zip(*(panel.groups for panel in panels), strict=True)
    return places((max(map(len, groups)) for groups in together), _BETWEEN)


def draw_panels(every: Sequence[Axes], names: Sequence[str], panels: Sequence[Panel]) -> None:
    """`names` from the top down; the axes share both scales."""
    common = _common_places(panels)
    for axes, panel in zip(every, panels, strict=True):
        for y, one in each(panel.groups, common):
            length = one.value / GB
            axes.barh(y, length, _THICKNESS, **one.look.bar())
            style.say(axes, one.text, (length, y), (4, 0), va="center", strong=one.strong)
        axes.set_title(panel.title)
        style.bare(axes)
    for axes in every:
        first = axes is every[0] or style.is_narrow()  # of its line
        common.name(axes, names if first else [""] * len(names))
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
    figure = style.new_figure(_AROUND_INCHES + _BAR_INCHES * _common_places(panels).end, headline)
    every = style.grid(figure, len(panels), len(panels))
    draw_panels(every, names, panels)
    for axes in every:
        axes.set_xlabel(axis_label)
    style.key(figure, [(name, look.patch()) for name, look in legend], len(legend))
    return figure
