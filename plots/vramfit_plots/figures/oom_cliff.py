"""The OOM cliff: memory against batch for every strategy, the cards' sizes, and the largest batch
on each, of vramfit and of PyTorch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from vramfit_plots.captions import caption, signature
from vramfit_plots.cards import Card
from vramfit_plots.cliff_curves import HIGHEST, Curves, Point, curves
from vramfit_plots.cliffs import short_title
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, OURS, PREDICTED, THEIRS, TORCH
from vramfit_plots.strategies import Strategy
from vramfit_plots.tables.oom_cliff import answers
from vramfit_plots.units import GB, batch, gb, number

_PANEL_INCHES, _AROUND_INCHES = 2.5, 1.5
_COLUMNS = 3  # of the key
_LINES = {"none": "-", "full": "--"}  # by checkpointing; others are dotted
_MOST_TICKS = 14
_DIGIT = 0.0165  # of the panel's width: what one of a figure takes


@dataclass(frozen=True)
class Look:
    color: str
    marker: str
    line: str  # matplotlib's style

    def artist(self) -> Line2D:
        """For a legend."""
        return Line2D(
            [], [], linestyle=self.line, marker=self.marker, color=self.color, linewidth=1.6
        )


def _looks(strategies: Sequence[Strategy]) -> Mapping[Strategy, Look]:
    """With and without checkpointing differ in the line alone."""
    stored = dict.fromkeys(strategy.stored for strategy in strategies)
    looks = dict(zip(stored, style.curves(len(stored)), strict=True))
    return {
        strategy: Look(*looks[strategy.stored], _LINES.get(strategy.checkpointing, ":"))
        for strategy in strategies
    }


def _words(strategy: Strategy) -> str:
    return strategy.words("model", "seq")


def _key(looks: Mapping[Strategy, Look]) -> list[tuple[str, Artist]]:
    """The strategies without checkpointing, then what lines and marks mean."""
    stored = {strategy.stored: look for strategy, look in looks.items()}
    found: list[tuple[str, Artist]] = [
        (_words(strategy), Look(look.color, look.marker, "-").artist())
        for strategy, look in stored.items()
    ]
    kinds = dict.fromkeys(s.checkpointing for s in looks if s.checkpointing != "none")
    for kind in kinds:
        look = Look(style.FAINT, "", _LINES.get(kind, ":"))
        found.append((f"{kind} checkpointing", look.artist()))
    whole = {"linestyle": "", "marker": "o", "color": style.FAINT}
    return [
        *found,
        ("measured", Line2D([], [], **whole)),
        ("predicted", Line2D([], [], fillstyle="none", **whole)),
    ]


def _shown(points: Sequence[Point]) -> list[Point]:
    """What was measured, and the largest batches; those once, as measured where they were."""
    known = {(point.batch, point.card) for point in points if point.measured}
    return [p for p in points if p.measured or (p.card and (p.batch, p.card) not in known)]


def _draw_curve(axes: Axes, points: Sequence[Point], look: Look) -> None:
    predicted = [point for point in points if not point.measured]
    if predicted:
        batches, totals = zip(*((p.batch, p.total / GB) for p in predicted), strict=True)
        every = np.geomspace(batches[0], batches[-1], 200)  # straight in the batch, not in its log
        heights = np.interp(every, batches, totals)
        axes.plot(every, heights, look.line, color=look.color, linewidth=1.6)
    for point in _shown(points):
        axes.plot(
            point.batch,
            point.total / GB,
            look.marker,
            color=look.color,
            markersize=7 if point.card else 5,
            markerfacecolor=look.color if point.measured else "white",
            markeredgecolor="white" if point.measured else look.color,
            markeredgewidth=1 if point.card else 0.5,
            zorder=3,
        )


def _apart(places: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The middles of texts so wide, sorted: those that overlap are moved right as far as left."""
    starts = [0.0, *accumulate(widths[:-1])]  # of texts that follow one another without a gap
    texts = list(zip(places, widths, starts, strict=True))
    level = [place - width / 2 - start for place, width, start in texts]
    right = accumulate(level, max)
    left = reversed(list(accumulate(reversed(level), min)))
    moved = ((a + b) / 2 for a, b in zip(left, right, strict=True))
    return [at + width / 2 + start for at, (_, width, start) in zip(moved, texts, strict=True)]


def _say_largest(axes: Axes, found: Curves, looks: Mapping[Strategy, Look]) -> None:
    """Above each card's line the largest batches in their curves' colours, moved as far apart as
    figures need; once the axes' limits stand."""
    by_card: dict[Card, list[tuple[float, str]]] = {}
    for strategy, points in found.items():
        for point in _shown(points):
            if point.card:
                by_card.setdefault(point.card, []).append((point.batch, looks[strategy].color))
    to_axes = axes.transData + axes.transAxes.inverted()
    for card, marks in by_card.items():
        marks.sort()
        places = [float(to_axes.transform((largest, 1))[0]) for largest, _ in marks]
        widths = [_DIGIT * len(number(largest)) for largest, _ in marks]
        for (largest, color), place in zip(marks, _apart(places, widths), strict=True):
            at = (place, card.vram / GB)
            beside = {"xycoords": axes.get_yaxis_transform(), "ha": "center"}
            look = {"strong": True, "size": 7.5, "color": color, "over_lines": True}
            style.say(axes, number(largest), at, (0, 3), **look, **beside)


def _draw_cards(axes: Axes, cards: Sequence[Card]) -> None:
    """Their names stand right of the panel."""
    for card in cards:
        axes.axhline(card.vram / GB, color=style.INK, linewidth=1)
        at, beside = (1, card.vram / GB), {"xycoords": axes.get_yaxis_transform()}
        text = f"{short_title(card)}, {gb(card.vram)}"
        style.say(axes, text, at, (5, 0), size=8, va="center", **beside)


def finding(inputs: Inputs) -> str:
    """The article's first column on its largest card."""
    answer = answers(inputs)[-1][0]
    found = [
        f"{side} {'fits batch ' if value > 0 else ''}{batch(value)}"
        for side, source in (("vramfit", PREDICTED), ("PyTorch", TORCH))
        if (value := answer.cell.figure(source)) is not None
    ]
    said = [f"the article says {answer.cell.text(ARTICLE)}", *found]
    return f"{answer.heading} on {answer.vram}: {', '.join(said)}"


def _panel(axes: Axes, side: str, cards: Sequence[Card]) -> None:
    _draw_cards(axes, cards)
    axes.set_title(side)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(LogLocator(base=2, numticks=_MOST_TICKS))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylim(0, HIGHEST * max(card.vram for card in cards) / GB)
    axes.set_ylabel("taken from the card, GB")
    style.level_grid(axes)


def draw(inputs: Inputs) -> Picture:
    article, model = inputs.article.oom_cliff, inputs.article.inference["model"]
    cards = [inputs.cards[row["gpu"]] for row in article["rows"]]
    by_side = {sources[0].side: curves(inputs, cards, sources) for sources in (OURS, THEIRS)}
    shown = {
        side: {strategy: points for strategy, points in found.items() if points}
        for side, found in by_side.items()
    }
    shown = {side: found for side, found in shown.items() if found}
    strategies = list(dict.fromkeys(strategy for found in shown.values() for strategy in found))
    if not strategies:
        raise AbsentError(f"a row OomCliff/{model}/…/seq:{article['seq']}/gpu:… that fits")
    looks = _looks(strategies)
    title = finding(inputs)
    figure = style.new_figure(_AROUND_INCHES + _PANEL_INCHES * len(shown), title)
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (side, found) in zip(panels, shown.items(), strict=True):
        _panel(axes, side, cards)
        for strategy, points in found.items():
            _draw_curve(axes, points, looks[strategy])
    for axes, found in zip(panels, shown.values(), strict=True):
        _say_largest(axes, found, looks)
    panels[-1].set_xlabel(f"micro-batch, sequences of {article['seq']} tokens")
    style.key(figure, _key(looks), _COLUMNS)
    marks = [
        f"{side}, {_words(strategy)}, {short_title(point.card)}: {number(point.batch)}"
        for side, found in shown.items()
        for strategy, points in found.items()
        for point in points
        if point.card and not point.measured
    ]
    return Picture(
        key="oom_cliff",
        title=title,
        alt="Largest batch: " + "; ".join(marks),
        caption=caption(
            inputs,
            f"^(Training|OomCliff)/{model}/",
            f"Training {model}. What is taken is the pool's peak with driver, context and "
            "libraries, in GB (1e9 bytes). A numbered mark is the largest batch that fits the card "
            "whose line is the next above it; where a curve has no mark for a card, no batch fits "
            "it. Filled marks were measured, lines and hollow marks are predicted. PyTorch's Adam "
            "keeps m and v in the weights' type.",
        ),
        figure=figure,
        signature=signature(inputs),
        large=True,
    )
