"""Rows of OomCliff by strategy and card, what the article prints, and memory against batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from vramfit_plots.catalogues import Card
from vramfit_plots.cells import Cell
from vramfit_plots.inputs import Inputs, Reading
from vramfit_plots.rows import Strategy, strategy_of
from vramfit_plots.sources import COUNTED, MEASURED, OURS, THEIRS, TIMED, Source
from vramfit_plots.units import batch

_WAYS = ("none", "selective", "full")  # what saves least, and costs least, first


@dataclass(frozen=True)
class Attempt:
    """The least checkpointing with which the printed batch fits, else what fits most."""

    way: str  # "none", "selective"
    largest: float
    met: bool

    @property
    def plain(self) -> bool:
        return self.way == _WAYS[0]

    @property
    def words(self) -> str:
        """ "met without checkpointing", "met with selective checkpointing: 40"."""
        word = "met" if self.met else "not met"
        if self.plain:
            return f"{word} without checkpointing"
        even = "" if self.met else " even"
        return f"{word}{even} with {self.way} checkpointing: {batch(self.largest)}"


def least_printed(printed: float | str) -> float | None:
    """ "96+" is at least 96; "OOM" asks for nothing."""
    digits = str(printed).removesuffix("+")
    return float(digits) if digits.isdecimal() else None


def attempt(inputs: Inputs, row: str, source: Source, printed: float | str) -> Attempt | None:
    """None where the article prints no batch, or nobody looked for one without checkpointing; with
    it, what the source's side has stands in."""
    least = least_printed(printed)
    if least is None or inputs.of(row, source, "max_batch") is None:
        return None
    side, found = (OURS if source in OURS else THEIRS), []
    for way in _WAYS:
        name = row if way == _WAYS[0] else f"{row}/checkpoint:{way}"
        largest = (inputs.of(name, one, "max_batch") for one in (source, *side))
        found += [Attempt(way, n, n >= least) for n in largest if n is not None][:1]
    return next((one for one in found if one.met), max(found, key=lambda one: one.largest))


ROWS_PATTERN = "^OomCliff/"


@dataclass(frozen=True)
class Cliffs:
    """The largest models first, of each what trains all of it before adapters, and of these what
    leaves least room."""

    inputs: Inputs
    strategies: list[Strategy]
    cards: list[Card]  # by their VRAM
    rows: Mapping[tuple[Strategy, str], str]  # by strategy and card

    def row(self, strategy: Strategy, card: Card) -> str | None:
        return self.rows.get((strategy, card.name))

    def cell(self, strategy: Strategy, card: Card) -> Cell:
        """The article's figure too, where its table has the strategy."""
        row = self.row(strategy, card)
        return self.inputs.cell(row, "max_batch", self._printed.get(row), batch)

    @cached_property
    def _printed(self) -> Mapping[str | None, float | str]:
        cells = [cell for row in self.inputs.article.oom_cliff["rows"] for cell in row["cells"]]
        return {cell["row"]: cell["max_batch"] for cell in cells}

    def vram(self, card: Card) -> str:
        """As the article has it, else the card's own."""
        named = {row["gpu"]: row["vram"] for row in self.inputs.article.oom_cliff["rows"]}
        return named.get(card.name, card.short_title)


def taken(inputs: Inputs, row: str | None, card: Card, source: Source) -> float | None:
    """What a card has lost to the run in all, driver included."""
    used = inputs.of(row, source, "device_used")
    return None if used is None else used + card.driver_reserved


def load_cliffs(inputs: Inputs) -> Cliffs:
    """Of every row of known cards, whoever has figures of it."""
    rows, cards = {}, {}
    for name in inputs.names("OomCliff"):
        parsed = inputs.run.parse(name)
        card = inputs.cards.get(parsed.axes.get("gpu", ""))
        if card is not None and parsed.axes.get("model") in inputs.models:
            rows[strategy_of(parsed), card.name] = name
            cards[card.name] = card
    by_vram = sorted(cards.values(), key=lambda card: card.vram)
    found = Cliffs(inputs, list(dict.fromkeys(strategy for strategy, _ in rows)), by_vram, rows)

    def rank(strategy: Strategy) -> tuple[float, bool, float, str]:
        """By what fits all cards together, by the best figure there is."""
        cells = [found.cell(strategy, card) for card in by_vram]
        fits = sum(cell.figure(best) or 0 for cell in cells if (best := cell.best(MEASURED)))
        return -inputs.models[strategy.model].parameters, strategy.adapts, fits, strategy.words()

    return replace(found, strategies=sorted(found.strategies, key=rank))


@dataclass(frozen=True)
class Answer:
    """One cell of the table."""

    heading: str
    vram: str  # as the article has it
    cell: Cell
    attempts: Mapping[str, Attempt]  # by source key, where the article prints a batch


def _answer(inputs: Inputs, heading: str, vram: str, entry: Mapping[str, Any]) -> Answer:
    row, printed = entry["row"], entry["max_batch"]
    cell = inputs.cell(row, "max_batch", printed, batch, entry)
    tried = {source.key: attempt(inputs, row, source, printed) for source in COUNTED}
    attempts = {key: one for key, one in tried.items() if one}
    below = {key: one.words for key, one in attempts.items()}
    return Answer(heading, vram, replace(cell, below=below), attempts)


def answers(inputs: Inputs) -> list[list[Answer]]:
    """To the article's columns, by card."""
    headings = inputs.article.oom_cliff["columns"][1:]
    return [
        [
            _answer(inputs, heading, row["vram"], entry)
            for heading, entry in zip(headings, row["cells"], strict=True)
        ]
        for row in inputs.article.oom_cliff["rows"]
    ]


_HALF = "16-bit"  # what FP16 and BF16 are here: the same bytes
HIGHEST = 1.1  # of the largest card: what is beyond fits none


@dataclass(frozen=True)
class Point:
    batch: float
    total: float  # bytes the card has lost, driver included
    measured: bool
    card: Card | None  # on which this is the largest batch


Curves = Mapping[Strategy, list[Point]]


def alike(strategy: Strategy) -> Strategy:
    """The one that stands for all that take the same."""
    axes = dict(strategy.axes)
    if axes.get("precision") in {"fp16", "bf16"}:
        axes["precision"] = _HALF
    return Strategy(frozenset(axes.items()))


def _point(one: Reading, cards: Mapping[str, Card], driver: int) -> Point | None:
    """Of a row of Training, or of OomCliff the card's largest batch. None where no batch fits, or
    the source does not know."""
    name = one.inputs.run.parse(one.row)
    if name.family == "Training":
        card, size = None, 0 if one.inputs.value(one.row, "oom") else name.number("batch")
    else:
        card, size = cards.get(name.axes.get("gpu", "")), one.max_batch
        driver = card.driver_reserved if card else 0
        size = size if card else None
    if not size or not one.device_used:
        return None
    return Point(size, one.device_used + driver, one.source in TIMED, card)


def curves(inputs: Inputs, cards: Sequence[Card], sources: Sequence[Source]) -> Curves:
    """By strategy that a cliff was looked for with: what every batch takes, and the largest of each
    card."""
    cliffs, article = load_cliffs(inputs), inputs.article
    model, seq = article.inference["model"], str(article.oom_cliff["seq"])
    shown = [s for s in cliffs.strategies if s.model == model and s.axes.get("seq") == seq]
    found: dict[Strategy, list[Point | None]] = {alike(strategy): [] for strategy in shown}
    by_name = {card.name: card for card in cards}
    driver = cards[0].driver_reserved  # rows of Training ran on the run's card: taken as equal
    for row in inputs.names("Training", "OomCliff"):
        own = found.get(alike(strategy_of(inputs.run.parse(row))))
        for source in sources if own is not None else ():
            own.append(_point(Reading(inputs, row, source), by_name, driver))
    highest = HIGHEST * max(card.vram for card in cards)
    return {
        strategy: sorted(
            (point for point in points if point and point.total <= highest),
            key=lambda point: (point.batch, point.total),
        )
        for strategy, points in found.items()
    }


def printed(inputs: Inputs) -> Mapping[Strategy, list[Point]]:
    """The article's largest batches, each on its card's line."""
    found: dict[Strategy, list[Point]] = {}
    for row in inputs.article.oom_cliff["rows"]:
        card = inputs.cards[row["gpu"]]
        for cell in row["cells"]:
            if size := least_printed(cell["max_batch"]):
                strategy = alike(strategy_of(inputs.run.parse(cell["row"])))
                found.setdefault(strategy, []).append(Point(size, card.vram, False, card))
    return found
