"""A claim, what there is to set beside it, and whether it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vramfit_plots.catalogues import Card
from vramfit_plots.cells import differ
from vramfit_plots.inputs import Inputs
from vramfit_plots.rows import RowName
from vramfit_plots.sources import ARTICLE, COUNTED, TORCH_MEASURED, Source, best_of_each_side
from vramfit_plots.topics.lora import adapters
from vramfit_plots.units import GB

Figures = Mapping[Source, float]

_OPENING_GB = 24


@dataclass(frozen=True)
class Answer:
    figures: Mapping[Source, str]
    verdict: str


@dataclass(frozen=True)
class Asked:
    """A claim, where its answer is looked for, and what rows of claims.json may speak of."""

    inputs: Inputs
    claim: Mapping[str, Any]

    @property
    def row(self) -> str:
        return self.claim["row"]

    @property
    def near(self) -> str:
        return self.claim["near"]["row"]

    @property
    def case(self) -> RowName:
        return self.inputs.run.parse(self.row)

    @property
    def near_case(self) -> RowName:
        return self.inputs.run.parse(self.near)

    @property
    def printed(self) -> float:
        """What it says, in bytes."""
        return self.claim["value"] * GB

    @property
    def printed_each(self) -> float:
        """Bytes a parameter, as the article has more of them."""
        return self.printed / self.inputs.article.seven_b

    @property
    def parameters(self) -> int:
        """Of the model that the article trains."""
        return self.inputs.models[self.inputs.article.waterfall["model"]].parameters

    @property
    def opening_card(self) -> Card:
        rows = self.inputs.article.oom_cliff["rows"]
        row = next((row for row in rows if row["vram_gb"] == _OPENING_GB), rows[0])
        return self.inputs.cards[row["gpu"]]

    @property
    def card(self) -> Card:
        """That of the claim's row."""
        return self.inputs.cards[self.case.text("gpu")]

    @property
    def adapters(self) -> str:
        return adapters(self.inputs, self.row)

    @property
    def int4_model(self) -> tuple[float, str]:
        """Its bytes, and whose they are."""
        rows = {row["precision"]: row for row in self.inputs.article.inference["rows"]}
        measured = self.inputs.of(self.near, TORCH_MEASURED, "parameters")
        own = (measured, self.claim["near"]["as"]) if measured else None
        return own or (rows["INT4"]["model"] * GB, ARTICLE.heading)

    def within(self, value: float) -> bool:
        return self.claim["low"] <= value <= self.claim["high"]

    def same(self, value: float, printed: float, tolerance: float = 0.01) -> bool:
        return not differ(value, printed, tolerance)

    def counted(self, counter: str, row: str = "") -> dict[Source, float]:
        """Every source's, of the claim's row or another."""
        values = {source: self.inputs.of(row or self.row, source, counter) for source in COUNTED}
        return {source: value for source, value in values.items() if value is not None}

    def kept(self, row: str) -> Figures:
        """What a forward pass leaves, the model apart."""
        stages = ("forward", "loaded")
        after, loaded = (self.counted(f"step1_{stage}_after", row) for stage in stages)
        return of_both(after, loaded, lambda a, b: a - b)


def each(figures: Figures, change: Callable[[float], float]) -> dict[Source, float]:
    return {source: change(value) for source, value in figures.items()}


def of_both(one: Figures, other: Figures, join: Callable[[float, float], float]) -> Figures:
    """Of the sources that have both; a denominator that is 0 has none."""
    return {source: join(one[source], other[source]) for source in one if other.get(source)}


def best_of_each(figures: Figures) -> dict[Source, float]:
    """Of each side what was measured, else what is predicted."""
    best = best_of_each_side(lambda source: source if source in figures else None)
    return {source: figures[source] for source in best}


def judge(figures: Mapping[Source, Any], holds: Callable[[Any], bool]) -> str:
    """In a word; where they disagree, for whom it holds."""
    by_side: dict[str, list[bool]] = {}
    for source, value in figures.items():
        by_side.setdefault(source.side, []).append(holds(value))
    yes = [side for side, found in by_side.items() if all(found)]
    no = [side for side in by_side if side not in yes]
    if yes and no:
        return f"Holds for {yes[0]}, not for {no[0]}"
    return "Does not hold" if no else "Holds"


def in_lines(texts: Mapping[Source, list[str]]) -> dict[Source, str]:
    return {source: "\n".join(lines) for source, lines in texts.items()}
