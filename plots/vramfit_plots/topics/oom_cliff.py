"""Table 3: the largest batch that fits a card, by strategy, and memory against batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from vramfit_plots.article_tables import by_source, own_table
from vramfit_plots.captions import command
from vramfit_plots.catalogues import Card
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.rows import Strategy
from vramfit_plots.sources import ARTICLE, COUNTED, OURS, PREDICTED, SOURCES, THEIRS, TORCH
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.topics.cliffs import (
    HIGHEST,
    ROWS_PATTERN,
    Cliffs,
    Curves,
    Point,
    answers,
    curves,
    load_cliffs,
    taken,
)
from vramfit_plots.units import GB, MIB, MISSING, batch, gb, gigabytes, mib, number

_LINE = {"pred_cliff_base": "without a sequence\nGB", "pred_cliff_slope": "each adds\nGB"}


def _words(inputs: Inputs, strategy: Strategy) -> str:
    """The article's table states no length: all of ours have the same."""
    usual = strategy.axes.get("seq") == str(inputs.article.oom_cliff["seq"])
    return strategy.words("seq") if usual else strategy.words()


def _strategies(inputs: Inputs, cliffs: Cliffs, about: Mapping[str, object]) -> Table:
    """A row for each who has figures."""
    code = f"{ARTICLE.heading}'s code"

    def text(line: tuple[Strategy, str], card: Card) -> str | None:
        strategy, whose = line
        if whose == code:
            formula = inputs.value(cliffs.row(strategy, card), "article_max_batch")
            return None if formula is None else batch(formula)
        cell = cliffs.cell(strategy, card)
        return next(cell.text(s) for s in SOURCES if s.heading == whose)

    columns = [
        Column("strategy", lambda line: _words(inputs, line[0])),
        Column("whose", lambda line: line[1], text=True),
        *(Column(cliffs.vram(c), lambda line, card=c: text(line, card)) for c in cliffs.cards),
    ]
    everyone = [ARTICLE.heading, code, *(source.heading for source in COUNTED)]
    every = [(strategy, whose) for strategy in cliffs.strategies for whose in everyone]
    lines = [
        line for line in every if any(text(line, c) not in {None, MISSING} for c in cliffs.cards)
    ]
    return listing("table3_optimizers", columns, lines, command(inputs, ROWS_PATTERN), **about)


def _left_over(inputs: Inputs, cliffs: Cliffs, about: Mapping[str, object]) -> Table:
    """Of strategies and cards."""
    value = inputs.value
    line = {
        c: heading
        for c, heading in _LINE.items()
        if any(value(row, c) is not None for row in cliffs.rows.values())
    }

    def used(case: tuple[Strategy, Card]) -> float | None:
        fits = cliffs.cell(*case).figure(PREDICTED) or 0
        return taken(inputs, cliffs.row(*case), case[1], PREDICTED) if fits > 0 else None

    def left(case: tuple[Strategy, Card]) -> float | None:
        lost = used(case)
        return None if lost is None else case[1].vram - lost

    columns = [
        Column("strategy", lambda case: _words(inputs, case[0])),
        Column("card", lambda case: case[1].short_title, text=True),
        Column("largest batch\nvramfit predicted", lambda case: cliffs.cell(*case).text(PREDICTED)),
        Column("taken at it\nGB", used, gb, 2),
        Column("left over\nGB", left, gb, 2),
        *(
            Column(heading, lambda case, c=c: value(cliffs.row(*case), c), gb, 2)
            for c, heading in line.items()
        ),
    ]
    cases = [
        (strategy, card)
        for strategy in cliffs.strategies
        for card in cliffs.cards
        if cliffs.cell(strategy, card).has(PREDICTED)
    ]
    rows = command(inputs, ROWS_PATTERN)
    return listing("table3_answers", columns, cases, rows, long=True, line=line, **about)


def _overheads(inputs: Inputs) -> str:
    """What is taken from each card before a run, and who says so."""
    cards = [inputs.cards[row["gpu"]] for row in inputs.article.oom_cliff["rows"]]
    parts = []
    for overhead in dict.fromkeys(card.overhead for card in cards):
        sharing = [card for card in cards if card.overhead == overhead]
        sources = {card.assumed_from for card in sharing} - {None}
        assumed = "".join(
            f", assumed from the {inputs.cards[source].short_title}" for source in sorted(sources)
        )
        some = ", ".join(card.short_title for card in sharing)
        who = "each card" if len(sharing) == len(cards) else some
        parts.append(f"{mib(overhead)} of {who}{assumed}")
    return "; ".join(parts)


def _sizes(inputs: Inputs) -> str:
    """The cards that stand for the article's sizes."""
    cards = ((row["vram"], inputs.cards[row["gpu"]]) for row in inputs.article.oom_cliff["rows"])
    return "; ".join(f"{vram}: {card.short_title}, {gigabytes(card.vram)}" for vram, card in cards)


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.oom_cliff
    by_card, cliffs = answers(inputs), load_cliffs(inputs)
    caps = inputs.reference.lora_max_batch.items()
    about = {
        "article": article,
        "sizes": _sizes(inputs),
        "measured": inputs.run.measured,
        "overheads": _overheads(inputs),
        "capped": ", ".join(f"{number} within {mib(cap * MIB)}" for cap, number in caps),
    }
    columns = article["columns"]
    rows = [[row[0].vram, *(answer.cell for answer in row)] for row in by_card]
    lines = [  # by column, as one compares
        (f"{answer.vram}\n{answer.heading}", answer.cell)
        for column in zip(*by_card, strict=True)
        for answer in column
    ]
    return [
        own_table(inputs, "table3", columns, rows, ROWS_PATTERN, **about),
        by_source(inputs, "table3_sources", columns[0], lines, ROWS_PATTERN, **about),
        _strategies(inputs, cliffs, about),
        _left_over(inputs, cliffs, about),
    ]


_PANEL_INCHES, _AROUND_INCHES = 3.1, 1.5
_COLUMNS = 3  # of the key
_LINES = {"none": "-", "full": "--"}  # by checkpointing; others are dotted
_MOST_TICKS = 14
_DIGIT = 0.0165  # of the panel's width: what one of a figure takes
_ROOM = 2.2  # right of the largest batch, for the figures that are moved there


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


def _named(strategy: Strategy) -> str:
    return strategy.words("model", "seq")


def _key(looks: Mapping[Strategy, Look]) -> list[tuple[str, Artist]]:
    """The strategies without checkpointing, then what lines and marks mean."""
    stored = {strategy.stored: look for strategy, look in looks.items()}
    found: list[tuple[str, Artist]] = [
        (_named(strategy), Look(look.color, look.marker, "-").artist())
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


def _finding(inputs: Inputs) -> str:
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
    """Cards' names stand right of it."""
    for card in cards:
        axes.axhline(card.vram / GB, color=style.INK, linewidth=1)
        at, beside = (1, card.vram / GB), {"xycoords": axes.get_yaxis_transform()}
        text = f"{card.short_title}, {gb(card.vram)}"
        style.say(axes, text, at, (5, 0), size=8, va="center", **beside)
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
    shown = {}
    for sources in (OURS, THEIRS):
        found = curves(inputs, cards, sources)
        if fitting := {strategy: points for strategy, points in found.items() if points}:
            shown[sources[0].side] = fitting
    strategies = list(dict.fromkeys(strategy for found in shown.values() for strategy in found))
    if not strategies:
        raise AbsentError(f"a row OomCliff/{model}/…/seq:{article['seq']}/gpu:… that fits")
    looks, title = _looks(strategies), _finding(inputs)
    figure = style.new_figure(_AROUND_INCHES + _PANEL_INCHES * len(shown), title)
    panels = style.grid(figure, len(shown), 1, sharex=True)
    for axes, (side, found) in zip(panels, shown.items(), strict=True):
        _panel(axes, side, cards)
        for strategy, points in found.items():
            _draw_curve(axes, points, looks[strategy])
    panels[0].set_xlim(
        right=_ROOM * max(p.batch for s in shown.values() for f in s.values() for p in f)
    )
    for axes, found in zip(panels, shown.values(), strict=True):
        _say_largest(axes, found, looks)
    panels[-1].set_xlabel(f"micro-batch, sequences of {article['seq']} tokens")
    style.key(figure, _key(looks), _COLUMNS)
    marks = [
        f"{side}, {_named(strategy)}, {point.card.short_title}: {number(point.batch)}"
        for side, found in shown.items()
        for strategy, points in found.items()
        for point in points
        if point.card and not point.measured
    ]
    said = ["Largest batch: " + "; ".join(marks)]
    return drawn(inputs, "oom_cliff", title, figure, said, large=True, model=model)
