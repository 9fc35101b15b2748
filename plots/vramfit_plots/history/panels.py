"""Small pictures side by side, one for a row or a family, in which runs follow each other."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from vramfit_plots.figures import style
from vramfit_plots.history.runs import History, named
from vramfit_plots.units import number

_COLUMNS = 3
_PANEL_INCHES, _AROUND_INCHES = 1.15, 1.7
_TITLE_LETTERS = 30  # a line
_LABELS = 12  # of runs below a panel; of more every second or third has one
_MARKER, _SMALL_MARKER = 3.5, 1.8  # points; of runs so many that they have no label each
_TICKS = 3
_ROOM = 0.2  # above and below what is drawn, of its height: letters of marks stand there


@dataclass(frozen=True)
class Line:
    """How a series looks; its shape is told from others in print too."""

    color: str
    marker: str
    stroke: str = "-"
    width: float = 1.2

    def artist(self) -> Line2D:
        return Line2D([], [], color=self.color, marker=self.marker, linestyle=self.stroke, ms=4)


@dataclass(frozen=True)
class Panel:
    title: str
    lines: Sequence[tuple[pd.Series, Line]]


def _plot(axes: Axes, history: History, series: pd.Series, line: Line) -> None:
    """What one card took is no continuation of what another did."""
    size = _MARKER if len(history) <= _LABELS else _SMALL_MARKER
    for card in history.cards:
        found = series.loc[history.of_card(card)].dropna()
        axes.plot(
            found.index,
            found,
            color=line.color,
            marker=line.marker,
            linestyle=line.stroke,
            markersize=size,
            linewidth=line.width,
        )


def _at_least(axes: Axes, span: float, decimals: int) -> None:
    """A range of heights that does not make mountains of what is the same."""
    axes.margins(y=_ROOM)
    low, high = axes.get_ylim()
    if high - low < span:
        middle = (low + high) / 2
        axes.set_ylim(middle - span / 2, middle + span / 2)
    low, high = axes.get_ylim()
    if low < 0 <= axes.dataLim.ymin:  # what is never below 0 needs no room there
        axes.set_ylim(-_ROOM / 2 * (high - low), high)
    axes.yaxis.set_major_locator(MaxNLocator(_TICKS, min_n_ticks=2, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value, decimals)))


def _frame(axes: Axes, history: History, title: str) -> None:
    axes.set_title(
        "\n".join(textwrap.wrap(title, _TITLE_LETTERS, break_on_hyphens=False)),
        fontsize=7.5,
        weight="normal",
    )
    axes.tick_params(length=0, labelsize=7)
    axes.grid(axis="y")
    for mark in history.marks:
        axes.axvline(mark.position - 0.5, color=style.FAINT, linewidth=0.8, linestyle=":")
        axes.annotate(
            mark.letter,
            (mark.position - 0.5, 1),
            (1.5, -7),
            xycoords=axes.get_xaxis_transform(),
            textcoords="offset points",
            fontsize=7,
            color=style.FAINT,
        )


def _name_runs(axes: Axes, history: History) -> None:
    every = range(0, len(history), ceil(len(history) / _LABELS))
    labels = [named(history.runs[i]) for i in every]
    axes.set_xticks(list(every), labels, rotation=90, fontsize=6.5)


def draw(
    history: History,
    headline: str,
    panels: Sequence[Panel],
    *,
    unit: str,
    least: float,
    decimals: int = 0,
    lines: dict[str, Line],
) -> Figure:
    """`unit` is that of all heights, of which a panel spans so many at least."""
    columns = 2 if len(panels) == 4 else min(_COLUMNS, len(panels))
    count = ceil(len(panels) / columns)
    looks: list[tuple[str, Artist]] = [(name, line.artist()) for name, line in lines.items()]
    dotted = Line2D([], [], color=style.FAINT, linestyle=":")
    looks += [(f"{mark.letter}: {mark.text}", dotted) for mark in history.marks]
    height = _AROUND_INCHES + _PANEL_INCHES * count + 0.2 * ceil(len(looks) / 2)
    figure = style.new_figure(height, headline)
    # Not sharex: axes that share ask each other at every turn, and lay out ticks that nobody sees.
    every = figure.subplots(count, columns, squeeze=False).ravel()
    for axes in every:
        axes.set(xlim=(-0.5, len(history) - 0.5), xticks=[])
    for axes, panel in zip(every, panels, strict=False):
        for series, line in panel.lines:
            _plot(axes, history, series, line)
        _at_least(axes, least, decimals)
        _frame(axes, history, panel.title)
    for axes in every[len(panels) :]:  # of which only the runs' names are seen
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, labelleft=False)
    for axes in every[-columns:]:
        _name_runs(axes, history)
    figure.supylabel(unit, fontsize=9)
    style.key(figure, looks, 3 if not history.marks else 2)
    return figure
