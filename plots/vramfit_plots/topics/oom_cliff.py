"""Table 3: the largest batch that fits a card, by strategy, and memory against batch."""

from collections.abc import Mapping
from typing import Any

from vramfit_plots.article_tables import Own, by_source
from vramfit_plots.captions import command
from vramfit_plots.catalogues import Card
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.rows import Strategy
from vramfit_plots.sources import ARTICLE, COUNTED, OURS, PREDICTED, SOURCES, THEIRS, TORCH
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.topics.cliff_panels import name_of, panels
from vramfit_plots.topics.cliffs import (
    ROWS_PATTERN,
    Cliffs,
    answers,
    curves,
    load_cliffs,
    printed,
    taken,
)
from vramfit_plots.units import MIB, MISSING, batch, gb, gigabytes, mib, number

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


def _about(inputs: Inputs) -> dict[str, Any]:
    caps = inputs.reference.lora_max_batch.items()
    return {
        "article": inputs.article.oom_cliff,
        "sizes": _sizes(inputs),
        "measured": inputs.run.measured,
        "overheads": _overheads(inputs),
        "capped": ", ".join(f"{number} within {mib(cap * MIB)}" for cap, number in caps),
    }


def own(inputs: Inputs) -> Own:
    rows = [[row[0].vram, *(answer.cell for answer in row)] for row in answers(inputs)]
    return Own("table3", inputs.article.oom_cliff["columns"], rows, ROWS_PATTERN, _about(inputs))


def build(inputs: Inputs) -> list[Table]:
    cliffs, about = load_cliffs(inputs), _about(inputs)
    head = inputs.article.oom_cliff["columns"][0]
    lines = [  # by column, as one compares
        (f"{answer.vram}\n{answer.heading}", answer.cell)
        for column in zip(*answers(inputs), strict=True)
        for answer in column
    ]
    return [
        own(inputs).table(inputs),
        by_source(inputs, "table3_sources", head, lines, ROWS_PATTERN, **about),
        _strategies(inputs, cliffs, about),
        _left_over(inputs, cliffs, about),
    ]


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


def draw(inputs: Inputs) -> Picture:
    article, model = inputs.article.oom_cliff, inputs.article.inference["model"]
    vram = {inputs.cards[row["gpu"]]: row["vram"] for row in article["rows"]}
    shown = {}
    for sources in (OURS, THEIRS):
        found = curves(inputs, list(vram), sources)
        if fitting := {strategy: points for strategy, points in found.items() if points}:
            shown[sources[0].side] = fitting
    if not shown:
        raise AbsentError(f"a row OomCliff/{model}/…/seq:{article['seq']}/gpu:… that fits")
    title = _finding(inputs)
    batches = f"micro-batch, sequences of {article['seq']} tokens"
    figure = panels(title, shown, printed(inputs), vram, batches)
    marks = [
        f"{side}, {name_of(strategy)}, {vram[point.card]}: {number(point.batch)}"
        for side, found in shown.items()
        for strategy, points in found.items()
        for point in points
        if point.card and not point.measured
    ]
    said = ["Largest batch: " + "; ".join(marks)]
    return drawn(inputs, "oom_cliff", title, figure, said, model=model)
