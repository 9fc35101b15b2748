"""Table 3: the largest batch that fits a card, by strategy, and memory against batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from vramfit_plots.captions import caption
from vramfit_plots.cards import Card
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import (
    ARTICLE,
    COUNTED,
    OURS,
    PREDICTED,
    SOURCES,
    THEIRS,
    TORCH,
)
from vramfit_plots.strategies import Strategy
from vramfit_plots.tables.article_table import Line, Spoken, by_source, own_table
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.topics.cliffs import (
    HIGHEST,
    ROWS_PATTERN,
    Cliffs,
    Curves,
    Point,
    answers,
    curves,
    load_cliffs,
    short_title,
)
from vramfit_plots.units import GB, MIB, MISSING, batch, gb, gigabytes, mib, number

_LINE = {
    "pred_cliff_base": "without a sequence\nGB",
    "pred_cliff_slope": "each adds\nGB",
}
_OF_LINE = (
    "Of tensors alone are what stands without a sequence and what each adds: the line through the "
    "largest batch and half of it. "
)


def _words(inputs: Inputs, strategy: Strategy) -> str:
    """The article's table states no length: all of ours have the same."""
    usual = strategy.axes.get("seq") == str(inputs.article.oom_cliff["seq"])
    return strategy.words("seq") if usual else strategy.words()


def _strategies(inputs: Inputs, cliffs: Cliffs, unit: str) -> Table:
    """A row for each who has figures."""
    code = f"{ARTICLE.heading}'s code"

    def text(line: tuple[Strategy, str], card: Card) -> str | None:
        strategy, whose = line
        if whose == code:
            row = cliffs.rows.get((strategy, card.name))
            formula = inputs.value(row, "article_max_batch")
            return None if formula is None else batch(formula)
        cell = cliffs.cell(strategy, card)
        return next(cell.text(s) for s in SOURCES if s.heading == whose)

    columns = [
        Column("strategy", lambda line: _words(inputs, line[0])),
        Column("whose", lambda line: line[1], text=True),
        *(
            Column(cliffs.vram(card), lambda line, card=card: text(line, card))
            for card in cliffs.cards
        ),
    ]
    everyone = [ARTICLE.heading, code, *(source.heading for source in COUNTED)]
    every = [(strategy, whose) for strategy in cliffs.strategies for whose in everyone]
    lines = [
        line for line in every if any(text(line, c) not in {None, MISSING} for c in cliffs.cards)
    ]
    note = (
        f"{unit} Optimizers are named after what they keep; LoRA adapts q_proj and v_proj, INT8 "
        "and NF4 weights are bitsandbytes' in PyTorch. The article's code is its "
        "find_max_batch_size with the model's true shape: it knows neither LoRA nor checkpointing. "
        f"{_sizes(inputs)} {_lora_under_a_cap(inputs)}"
    )
    below = caption(inputs, ROWS_PATTERN, note.strip())
    return listing("table3_optimizers", "Table 3 for every strategy", columns, lines, below)


def _left_over(inputs: Inputs, cliffs: Cliffs) -> Table:
    rows, value = cliffs.rows, inputs.value
    line = {
        c: h for c, h in _LINE.items() if any(value(row, c) is not None for row in rows.values())
    }

    def used(case: tuple[Strategy, Card]) -> float | None:
        fits = cliffs.cell(*case).figure(PREDICTED) or 0
        return cliffs.taken(*case) if fits > 0 else None

    def left(case: tuple[Strategy, Card]) -> float | None:
        taken = used(case)
        return None if taken is None else case[1].vram - taken

    columns = [
        Column("strategy", lambda case: _words(inputs, case[0])),
        Column("card", lambda case: short_title(case[1]), text=True),
        Column("largest batch\nvramfit predicted", lambda case: cliffs.cell(*case).text(PREDICTED)),
        Column("taken at it\nGB", used, gb, 2),
        Column("left over\nGB", left, gb, 2),
        *(
            Column(heading, lambda case, c=c: value(rows[case[0], case[1].name], c), gb, 2)
            for c, heading in line.items()
        ),
    ]
    cases = [
        (strategy, card)
        for strategy in cliffs.strategies
        for card in cliffs.cards
        if cliffs.cell(strategy, card).has(PREDICTED)
    ]
    note = (
        "What is taken is all that the card has lost, driver and context included. "
        f"{_OF_LINE if line else ''}{_overheads(inputs)}"
    )
    title, below = "Table 3: what is left over", caption(inputs, ROWS_PATTERN, note)
    return listing("table3_answers", title, columns, cases, below, long=True)


def _overheads(inputs: Inputs) -> str:
    """What is taken from each card before a run, and who says so."""
    names = [row["gpu"] for row in inputs.article.oom_cliff["rows"]]
    cards = [inputs.cards[name] for name in names]
    parts = []
    for overhead in dict.fromkeys(card.overhead for card in cards):
        sharing = [card for card in cards if card.overhead == overhead]
        sources = {card.assumed_from for card in sharing} - {None}
        assumed = "".join(
            f", assumed from the {short_title(inputs.cards[source])}" for source in sorted(sources)
        )
        who = "each card" if len(sharing) == len(cards) else ", ".join(map(short_title, sharing))
        parts.append(f"{mib(overhead)} of {who}{assumed}")
    return f"Driver, context and libraries take {'; '.join(parts)}."


def _sizes(inputs: Inputs) -> str:
    """The cards that stand for the article's sizes."""
    cards = (
        f"{row['vram']}: {short_title(card)}, {gigabytes(card.vram)}"
        for row in inputs.article.oom_cliff["rows"]
        for card in [inputs.cards[row["gpu"]]]
    )
    capped = (
        " vramfit was measured on one card, capped to each size in turn."
        if inputs.run.measured
        else ""
    )
    return f"Cards that stand for the sizes: {'; '.join(cards)}.{capped}"


def _lora_under_a_cap(inputs: Inputs) -> str:
    """PyTorch's were measured otherwise than the table asks."""
    found = [
        f"{number} within {mib(cap * MIB)}"
        for cap, number in inputs.reference.lora_max_batch.items()
    ]
    return (
        f"PyTorch's largest batches with LoRA were measured under a cap on its allocator alone, "
        f"with the context on top: {', '.join(found)}."
        if found
        else ""
    )


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.oom_cliff
    by_card, cliffs = answers(inputs), load_cliffs(inputs)
    unit = (
        f"Sequences of {article['seq']} tokens (the article states no length); "
        "OOM: not even one fits."
    )
    met = (
        "Met: the article's batch fits, as it is or with the least activation checkpointing that "
        "makes it fit."
    )
    beyond = f"{met} {_overheads(inputs)} {_lora_under_a_cap(inputs)}".strip()
    note, title = f"{met} {_sizes(inputs)}", f"Table 3: {article['caption']}"
    own = Spoken("table3", title, unit, note, ROWS_PATTERN)
    sources = Spoken("table3_sources", "Table 3 by source", unit, beyond, ROWS_PATTERN)
    columns = article["columns"]
    rows = [[row[0].vram, *(answer.cell for answer in row)] for row in by_card]
    lines = [  # by column, as one compares
        Line(f"{answer.vram}\n{answer.heading}", answer.cell)
        for column in zip(*by_card, strict=True)
        for answer in column
    ]
    return [
        own_table(inputs, own, columns, rows),
        by_source(inputs, sources, columns[0], lines),
        _strategies(inputs, cliffs, unit),
        _left_over(inputs, cliffs),
    ]


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


def _draw_cards(axes: Axes, cards: Sequence[Card]) -> None:
    """Their names stand right of the panel."""
    for card in cards:
        axes.axhline(card.vram / GB, color=style.INK, linewidth=1)
        at, beside = (1, card.vram / GB), {"xycoords": axes.get_yaxis_transform()}
        text = f"{short_title(card)}, {gb(card.vram)}"
        style.say(axes, text, at, (5, 0), size=8, va="center", **beside)


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
    title = _finding(inputs)
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
        f"{side}, {_named(strategy)}, {short_title(point.card)}: {number(point.batch)}"
        for side, found in shown.items()
        for strategy, points in found.items()
        for point in points
        if point.card and not point.measured
    ]
    note = (
        f"Training {model}. What is taken is the pool's peak with driver, context and libraries, "
        "in GB (1e9 bytes). A numbered mark is the largest batch that fits the card whose line is "
        "the next above it; where a curve has no mark for a card, no batch fits it. Filled marks "
        "were measured, lines and hollow marks are predicted. PyTorch's Adam keeps m and v in the "
        "weights' type."
    )
    said, rows = ["Largest batch: " + "; ".join(marks)], f"^(Training|OomCliff)/{model}/"
    return drawn(inputs, "oom_cliff", title, figure, said=said, rows=rows, note=note, large=True)
