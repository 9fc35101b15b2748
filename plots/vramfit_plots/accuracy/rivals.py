"""Our predictions and the formulas, held against the same measurements."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from vramfit_plots.accuracy.comparison import Accuracy
from vramfit_plots.accuracy.formulas import FORMULAS, Formula
from vramfit_plots.accuracy.verdicts import wrong


@dataclass(frozen=True)
class Score:
    """Errors are of the peak allocated."""

    cases: int
    errors: pd.Series
    wrong: Mapping[str, int]  # verdicts, by card

    @property
    def all_wrong(self) -> int:
        return sum(self.wrong.values())


@dataclass(frozen=True)
class Rival:
    """A formula's score, and ours on the cases that it speaks of."""

    formula: Formula
    theirs: Score
    ours: Score
    said: pd.Series  # by case number


def _score(
    comparison: Accuracy,
    allocated: Mapping[int, float],
    totals: Mapping[int, float],
) -> Score:
    cases, cards = comparison.cases, comparison.cards
    errors = pd.Series({i: said / cases[i].peak["peak"] - 1 for i, said in allocated.items()})
    mistakes = [
        name
        for i, said in totals.items()
        for name in wrong(cases[i], said, comparison.measured_on(cases[i]), cards)
    ]
    return Score(len(allocated), errors, pd.Series(mistakes, dtype=object).value_counts().to_dict())


def ours(comparison: Accuracy, among: list[int]) -> Score:
    predictions = comparison.predictions
    return _score(
        comparison,
        {i: predictions[i].peak["peak"] for i in among},
        {i: predictions[i].total for i in among},
    )


def with_peak(comparison: Accuracy) -> list[int]:
    """Numbers of the cases whose memory was read."""
    return [i for i, case in enumerate(comparison.cases) if case.peak]


def rivals(comparison: Accuracy) -> list[Rival]:
    found = []
    for formula in FORMULAS:
        spoken_of = {
            i: formula.total(comparison.cases[i], comparison.predictions[i])
            for i in with_peak(comparison)
            if formula.speaks_of(comparison.cases[i])
        }
        if not spoken_of:
            continue
        theirs = _score(comparison, spoken_of, spoken_of)
        own = ours(comparison, list(spoken_of))
        found.append(Rival(formula, theirs, own, pd.Series(spoken_of)))
    return found
