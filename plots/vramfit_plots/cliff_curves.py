"""Memory against batch by strategy: what the picture of the OOM cliff shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vramfit_plots.cards import Card
from vramfit_plots.cliffs import load_cliffs, taken
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import family
from vramfit_plots.sources import MEASURED, TORCH_MEASURED, Source
from vramfit_plots.strategies import Strategy, strategy_of

_HALF = "16-bit"  # what FP16 and BF16 are here: the same bytes
_MEASURED = (MEASURED, TORCH_MEASURED)
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


def _at_largest(
    inputs: Inputs, row: str, cards: Mapping[str, Card], source: Source
) -> Point | None:
    """None where no batch fits, or the source does not know."""
    card = cards.get(inputs.run.parse(row).axes.get("gpu", ""))
    largest = inputs.value(row, f"{source.prefix}max_batch")
    total = None if card is None else taken(inputs, row, card, source)
    return Point(largest, total, source in _MEASURED, card) if largest and total else None


def _at_batch(inputs: Inputs, row: str, driver: int, source: Source) -> Point | None:
    used = inputs.value(row, f"{source.prefix}device_used")
    if not used or inputs.value(row, "oom"):
        return None
    size = inputs.run.parse(row).number("batch")
    return Point(size, used + driver, source in _MEASURED, None)


def curves(inputs: Inputs, cards: Sequence[Card], sources: Sequence[Source]) -> Curves:
    """By strategy that a cliff was looked for with: what every batch takes, and the largest of each
    card."""
    cliffs, article = load_cliffs(inputs), inputs.article
    model, seq = article.inference["model"], str(article.oom_cliff["seq"])
    shown = [s for s in cliffs.strategies if s.model == model and s.axes.get("seq") == seq]
    found: dict[Strategy, list[Point | None]] = {alike(strategy): [] for strategy in shown}
    by_name = {card.name: card for card in cards}
    driver = cards[0].driver_reserved  # rows of Training ran on the run's card: taken as equal
    for row in inputs.rows.index:
        if family(row) not in {"Training", "OomCliff"}:
            continue
        own = found.get(alike(strategy_of(inputs.run.parse(row))))
        for source in sources if own is not None else ():
            own.append(
                _at_batch(inputs, row, driver, source)
                if family(row) == "Training"
                else _at_largest(inputs, row, by_name, source)
            )
    highest = HIGHEST * max(card.vram for card in cards)
    return {
        strategy: sorted(
            (point for point in points if point and point.total <= highest),
            key=lambda point: (point.batch, point.total),
        )
        for strategy, points in found.items()
    }
