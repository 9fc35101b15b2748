"""How good the predictions have to be: `make test` fails where they are not."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import ge, le

import pandas as pd

from vramfit_plots.units import percent


@dataclass(frozen=True)
class Bound:
    """On the errors of one kind of figure; an error is predicted / measured - 1."""

    figure: str  # a `kind` of the comparison
    words: str
    statistic: Callable[[pd.Series], float]
    holds: Callable[[float, float], bool]
    limit: float

    def value(self, errors: pd.Series) -> float:
        return float(self.statistic(errors))

    def kept(self, errors: pd.Series) -> bool:
        return self.holds(self.value(errors), self.limit)

    @property
    def text(self) -> str:
        sign = "at most" if self.holds is le else "at least"
        return f"{self.words} {sign} {percent(self.limit, signed=self.limit < 0)}"


def _median(errors: pd.Series) -> float:
    return errors.abs().median()


def _worst(errors: pd.Series) -> float:
    return errors.abs().max()


BOUNDS = (
    Bound("peak allocated", "median", _median, le, 0.003),
    Bound("peak allocated", "worst", _worst, le, 0.02),
    Bound("peak allocated", "lowest", pd.Series.min, ge, -0.005),
    Bound("allocated by stage", "worst", _worst, le, 0.01),
    Bound("peak reserved", "median", _median, le, 0.02),
    Bound("peak reserved", "worst", _worst, le, 0.06),
    Bound("peak device used", "median", _median, le, 0.02),
    Bound("peak device used", "worst", _worst, le, 0.06),
    Bound("largest batch", "worst", _worst, le, 0.0),
)
