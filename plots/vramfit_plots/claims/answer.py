"""What there is to set beside a claim, and whether it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import COUNTED, OURS, THEIRS, Source

Figures = Mapping[Source, float]


@dataclass(frozen=True)
class Answer:
    figures: Mapping[Source, str]
    verdict: str


def counted(inputs: Inputs, row: str, counter: str) -> dict[Source, float]:
    """Every source's."""
    values = {source: inputs.value(row, source.prefix + counter) for source in COUNTED}
    return {source: value for source, value in values.items() if value is not None}


def each(figures: Figures, change: Callable[[float], float]) -> dict[Source, float]:
    return {source: change(value) for source, value in figures.items()}


def of_both(one: Figures, other: Figures, join: Callable[[float, float], float]) -> Figures:
    """Of the sources that have both; a denominator that is 0 has none."""
    return {source: join(one[source], other[source]) for source in one if other.get(source)}


def best_of_each(figures: Figures) -> dict[Source, float]:
    """Of each side what was measured, else what is predicted."""
    best = (next((s for s in sources if s in figures), None) for sources in (OURS, THEIRS))
    return {source: figures[source] for source in best if source}


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


def judged(
    figures: Figures,
    form: Callable[[float], str],
    holds: Callable[[float], bool],
    remark: str = "",
) -> Answer:
    """Throws AbsentError where there is no figure to judge by."""
    if not figures:
        raise AbsentError("a row that answers it")
    word = judge(figures, holds)
    return Answer(
        {source: form(value) for source, value in figures.items()},
        f"{word}: {remark}." if remark else f"{word}.",
    )
