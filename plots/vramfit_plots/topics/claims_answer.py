"""A claim, what there is to set beside it, and whether it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vramfit_plots.cells import differ
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import RowName
from vramfit_plots.sources import COUNTED, Source, best_of_each_side
from vramfit_plots.units import GB

Figures = Mapping[Source, float]


@dataclass(frozen=True)
class Answer:
    figures: Mapping[Source, str]
    verdict: str


@dataclass(frozen=True)
class Asked:
    """A claim, and where its answer is looked for."""

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
    def printed(self) -> float:
        """What it says, in bytes."""
        return self.claim["value"] * GB

    @property
    def parameters(self) -> int:
        """Of the model that the article trains."""
        return self.inputs.models[self.inputs.article.waterfall["model"]].parameters

    def within(self, value: float) -> bool:
        return self.claim["low"] <= value <= self.claim["high"]

    def counted(self, counter: str, row: str = "") -> dict[Source, float]:
        """Every source's, of the claim's row or another."""
        values = {source: self.inputs.of(row or self.row, source, counter) for source in COUNTED}
        return {source: value for source, value in values.items() if value is not None}

    def kept(self, row: str) -> Figures:
        """What a forward pass leaves, the model apart."""
        after, loaded = (
            self.counted(f"step1_{stage}_after", row) for stage in ("forward", "loaded")
        )
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


def judge(figures: Figures, holds: Callable[[float], bool]) -> str:
    """In a word; where they disagree, for whom it holds."""
    by_side: dict[str, list[bool]] = {}
    for source, value in figures.items():
        by_side.setdefault(source.side, []).append(holds(value))
    yes = [side for side, found in by_side.items() if all(found)]
    no = [side for side in by_side if side not in yes]
    if yes and no:
        return f"Holds for {yes[0]}, not for {no[0]}"
    return "Does not hold" if no else "Holds"


def as_printed(asked: Asked, value: float) -> bool:
    return not differ(value, asked.claim["value"])


def as_many_gb(asked: Asked, value: float) -> bool:
    return not differ(value, asked.printed)


@dataclass(frozen=True)
class Judged:
    """How a claim is answered by a figure of each source."""

    figures: Callable[[Asked], Figures]
    form: Callable[[float], str]
    holds: Callable[[Asked, float], bool]
    remark: Callable[[Asked], str] = field(default=lambda _: "")

    def __call__(self, asked: Asked) -> Answer:
        """Throws AbsentError where there is no figure to judge by."""
        figures = self.figures(asked)
        if not figures:
            raise AbsentError("a row that answers it")
        word = judge(figures, lambda value: self.holds(asked, value))
        remark = self.remark(asked)
        texts = {source: self.form(value) for source, value in figures.items()}
        return Answer(texts, f"{word}: {remark}." if remark else f"{word}.")
