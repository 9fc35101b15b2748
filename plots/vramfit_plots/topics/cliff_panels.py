"""Memory against the batch, a panel for each recipe: a curve for each side and way of
checkpointing, and the largest batch where it meets a card."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from vramfit_plots.catalogues import Card
from vramfit_plots.figures import style
from vramfit_plots.rows import Strategy
from vramfit_plots.topics.cliffs import HIGHEST, Curves, Point
from vramfit_plots.units import GB, number

_WIDTH, _PANEL_INCHES, _AROUND_INCHES = 10.0, 2.3, 1.3
_COLUMNS = 3
_LINES = {"none": "-", "selective": ":", "full": "--"}  # by checkpointing
_BATCHES = (1, 4, 16, 64, 256)  # with a tick
_ROOM = 2.0  # right of the largest batch, for figures
_DIGIT = 0.031  # of a panel's width: what one of a figure takes
_OFFSETS = {"vramfit": (0, 4), "PyTorch": (0, -11)}  # points: figures, beside a mark
_HIGH, _TALL = 145, 8  # points: of a panel's axes, and of a figure

_PRINTED = {"marker": "x", "color": style.INK, "ms": 6, "mew": 1.6}  # what the article has

Shown = Mapping[str, Curves]  # by side


def name_of(strategy: Strategy) -> str:
    return strategy.words("model", "seq")


def largest(points: Sequence[Point]) -> list[Point]:
    """Those on a card; what was measured stands for its prediction."""
    known = {point.card for point in points if point.measured}
    return [p for p in points if p.card and (p.measured or p.card not in known)]


def _draw_curve(axes: Axes, points: Sequence[Point], color: str, line: str) -> None:
    predicted = [point for point in points if not point.measured] or points
    batches, totals = zip(*((p.batch, p.total / GB) for p in predicted), strict=True)
    every = np.geomspace(batches[0], batches[-1], 200)  # straight in the batch, not in its log
    axes.plot(every, np.interp(every, batches, totals), line, color=color, linewidth=1.5)
    for point in largest(points):
        face = color if point.measured else "white"
        axes.plot(point.batch, point.total / GB, "o", color=color, ms=4, mfc=face, zorder=3)


def apart(places: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The middles of texts so wide, sorted: those that overlap are moved right as far as left."""
    starts = [0.0, *accumulate(widths[:-1])]  # of texts that follow one another without a gap
    texts = list(zip(places, widths, starts, strict=True))
    level = [place - width / 2 - start for place, width, start in texts]
    right = accumulate(level, max)
    left = reversed(list(accumulate(reversed(level), min)))
    moved = ((a + b) / 2 for a, b in zip(left, right, strict=True))
    return [at + width / 2 + start for at, (_, width, start) in zip(moved, texts, strict=True)]


def _rows(axes: Axes, points: Sequence[tuple[str, Point]]) -> list[list[tuple[str, Point]]]:
    """Sides' figures that stand at about the same height, and so in each other's way."""
    rows: list[list[tuple[str, Point]]] = []
    begins = -np.inf
    for height, side, point in sorted(
        ((_height(axes, side, point), side, point) for side, point in points),
        key=lambda text: text[0],
    ):
        if height - begins > _TALL:
            rows.append([])
            begins = height
        rows[-1].append((side, point))
    return rows


def _height(axes: Axes, side: str, point: Point) -> float:
    """Points, about."""
    return point.total / GB / axes.get_ylim()[1] * _HIGH + float(_OFFSETS[side][1])


def _say_largest(axes: Axes, shown: Mapping[str, Sequence[Sequence[Point]]]) -> None:
    """Beside their marks, moved as far apart as figures need; once the axes' limits stand."""
    to_axes = axes.transData + axes.transAxes.inverted()
    every = [
        (side, point)
        for side, curves in shown.items()
        for points in curves
        for point in largest(points)
    ]
    for row in _rows(axes, every):
        row.sort(key=lambda text: text[1].batch)
        places = [float(to_axes.transform((point.batch, 1))[0]) for _, point in row]
        widths = [_DIGIT * (0.5 + len(number(point.batch))) for _, point in row]
        for (side, point), place in zip(row, apart(places, widths), strict=True):
            at = (place, point.total / GB)
            beside = {"xycoords": axes.get_yaxis_transform(), "ha": "center"}
            look = {"strong": True, "size": 8, "color": style.WORDS_OF[side], "over_lines": True}
            style.say(axes, number(point.batch), at, _OFFSETS[side], **look, **beside)


def _key(shown: Shown) -> list[tuple[str, Artist]]:
    """Sides, then what lines and marks mean."""
    ways = dict.fromkeys(s.checkpointing for curves in shown.values() for s in curves)
    words = {way: f"{way} checkpointing" for way in ways} | {"none": "nothing checkpointed"}
    mark = {"linestyle": "", "marker": "o", "color": style.FAINT}
    return [
        *((side, Line2D([], [], color=style.LINE_OF[side], linewidth=3)) for side in shown),
        *(
            (words[way], Line2D([], [], linestyle=line, color=style.FAINT))
            for way, line in _LINES.items()
            if way in ways
        ),
        ("measured", Line2D([], [], **mark)),
        ("predicted", Line2D([], [], mfc="white", **mark)),
        ("the article's", Line2D([], [], linestyle="", **_PRINTED)),
    ]


def _frame(axes: Axes, title: str, vram: Mapping[Card, str]) -> None:
    """Cards are the heights that one reads off."""
    axes.set_title(title, fontsize=9.5)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(_BATCHES))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylim(0, HIGHEST * max(card.vram for card in vram) / GB)
    axes.set_yticks([card.vram / GB for card in vram], list(vram.values()), fontsize=8.5)
    style.level_grid(axes)


def panels(
    headline: str,
    shown: Shown,
    printed: Mapping[Strategy, Sequence[Point]],
    vram: Mapping[Card, str],
    batches: str,
) -> Figure:
    """`printed` is the article's, `vram` how cards are called, `batches` the lowest axes' label."""
    every = [strategy for curves in shown.values() for strategy in curves]
    recipes = list(dict.fromkeys(strategy.stored for strategy in every))
    rows = -(-len(recipes) // _COLUMNS)
    figure = style.new_figure(_AROUND_INCHES + _PANEL_INCHES * rows, headline, _WIDTH)
    drawn = style.grid(figure, len(recipes), _COLUMNS, sharex=True, sharey=True)
    highest = max(p.batch for curves in shown.values() for own in curves.values() for p in own)
    for axes, recipe in zip(drawn, recipes, strict=True):
        _frame(axes, name_of(recipe), vram)
        axes.set_xlim(0.8, _ROOM * highest)
        own = {
            side: {s: points for s, points in curves.items() if s.stored == recipe}
            for side, curves in shown.items()
        }
        for side, curves in own.items():
            for strategy, points in curves.items():
                line = _LINES[strategy.checkpointing.partition(",")[0]]
                _draw_curve(axes, points, style.LINE_OF[side], line)
        _say_largest(axes, {side: list(curves.values()) for side, curves in own.items()})
        for point in printed.get(recipe, ()):
            axes.plot(point.batch, point.total / GB, linestyle="", zorder=4, **_PRINTED)
    if style.is_narrow():
        drawn[-1].set_xlabel(batches, fontsize=9)
    else:
        for axes in drawn[-_COLUMNS:]:
            axes.tick_params(labelbottom=True)  # below it there may be none
        figure.text(0.99, 0.01, batches, ha="right", va="bottom", fontsize=9)
    figure.supylabel("taken, of cards so large", fontsize=9)
    style.key(figure, _key(shown), 4)
    return figure
