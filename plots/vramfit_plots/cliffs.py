"""Rows of OomCliff by strategy and card."""

from collections.abc import Mapping
from dataclasses import dataclass

from vramfit_plots.cards import Card
from vramfit_plots.cells import Cell
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import family
from vramfit_plots.sources import MEASURED, PREDICTED, Source
from vramfit_plots.strategies import Strategy, strategy_of
from vramfit_plots.units import batch

ROWS_PATTERN = "^OomCliff/"
_FAMILY = "OomCliff"


@dataclass(frozen=True)
class Cliffs:
    """The largest models first, of each what trains all of it before adapters, and of these what
    leaves least room."""

    inputs: Inputs
    strategies: list[Strategy]
    cards: list[Card]  # by their VRAM
    rows: Mapping[tuple[Strategy, str], str]  # by strategy and card

    def cell(self, strategy: Strategy, card: Card) -> Cell:
        """The article's figure too, where its table has the strategy."""
        row = self.rows.get((strategy, card.name))
        return self.inputs.cell(row, "max_batch", self._printed.get(row), batch)

    @property
    def _printed(self) -> Mapping[str | None, float | str]:
        cells = [cell for row in self.inputs.article.oom_cliff["rows"] for cell in row["cells"]]
        return {cell["row"]: cell["max_batch"] for cell in cells}

    def vram(self, card: Card) -> str:
        """As the article has it, else the card's own."""
        named = {row["gpu"]: row["vram"] for row in self.inputs.article.oom_cliff["rows"]}
        return named.get(card.name, short_title(card))

    def taken(self, strategy: Strategy, card: Card, source: Source = PREDICTED) -> float | None:
        row = self.rows.get((strategy, card.name))
        return None if row is None else taken(self.inputs, row, card, source)


def short_title(card: Card) -> str:
    title = card.title.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return title.removesuffix(" Generation").removesuffix(" HBM3")


def taken(inputs: Inputs, row: str, card: Card, source: Source = PREDICTED) -> float | None:
    """What a card has lost to the run in all, driver included."""
    used = inputs.value(row, f"{source.prefix}device_used")
    return None if used is None else used + card.driver_reserved


def load_cliffs(inputs: Inputs) -> Cliffs:
    """Of every row of known cards, whoever has figures of it."""
    rows, cards = {}, {}
    for name in inputs.rows.index:
        if family(name) != _FAMILY:
            continue
        parsed = inputs.run.parse(name)
        card = inputs.cards.get(parsed.axes.get("gpu", ""))
        if card is not None and parsed.axes.get("model") in inputs.models:
            rows[strategy_of(parsed), card.name] = name
            cards[card.name] = card
    unsorted = Cliffs(
        inputs,
        list(dict.fromkeys(strategy for strategy, _ in rows)),
        sorted(cards.values(), key=lambda card: card.vram),
        rows,
    )
    strategies = sorted(unsorted.strategies, key=lambda strategy: _rank(unsorted, strategy))
    return Cliffs(inputs, strategies, unsorted.cards, rows)


def _rank(cliffs: Cliffs, strategy: Strategy) -> tuple[float, bool, float, str]:
    parameters = cliffs.inputs.models[strategy.model].parameters
    return -parameters, strategy.adapts, _fits(cliffs, strategy), strategy.words()


def _fits(cliffs: Cliffs, strategy: Strategy) -> float:
    """Of all cards together, by the best figure there is."""
    cells = [cliffs.cell(strategy, card) for card in cliffs.cards]
    return sum(cell.figure(best) or 0 for cell in cells if (best := cell.best(MEASURED)))
