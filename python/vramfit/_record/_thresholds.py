"""From which size on something is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vramfit._record._solve import Point, Term


@dataclass(frozen=True)
class Condition:
    """Met above a bound, or up to it; the bound is known to lie in [low, high)."""

    term: Term
    above: bool
    bound: int
    low: int
    high: int

    @property
    def text(self) -> str:
        way = "above" if self.above else "upto"
        return f"when {self.term.text} {way} {self.bound} {self.low} {self.high}"

    def holds(self, point: Point) -> bool:
        return (self.term.at(point) > self.bound) == self.above


def condition(
    terms: Sequence[Term], points: Sequence[Point], met: Sequence[bool]
) -> Condition | None:
    """The simplest that is met at these points alone; None: there is none."""
    for term in terms:
        inside = [term.at(point) for point, is_met in zip(points, met, strict=True) if is_met]
        outside = [term.at(point) for point, is_met in zip(points, met, strict=True) if not is_met]
        for above, low, high in (
            (True, max(outside), min(inside)),
            (False, max(inside), min(outside)),
        ):
            if low < high:
                return Condition(term, above, _roundest(low, high), low, high)
    return None


def _roundest(low: int, high: int) -> int:
    """Of the numbers from low up to high the one that most powers of two divide."""
    unit = 1
    while -(-low // (2 * unit)) * 2 * unit < high:
        unit *= 2
    return -(-low // unit) * unit
