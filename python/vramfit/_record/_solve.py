"""What a size in bytes is of what was varied, from what it was at several points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import prod

Point = dict[str, int]
Values = tuple[int, ...]

_HIGHEST = 3  # of a term's degree: batch * seq * seq
_OF_ONE = 2  # the same, of one name
_MOST_TERMS = 3
_STEPS = tuple(1 << power for power in range(1, 13))  # what libraries round sizes up to


@dataclass(frozen=True)
class Said:
    """An expression as a tape has it, and what it is at a point."""

    text: str
    at: Callable[[Point], int]


@dataclass(frozen=True)
class _Term:
    text: str
    at: Callable[[Point], int]
    degree: int


class Solver:
    """Of sizes at these points."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = points
        self._names = [*points[0]]
        self._terms = list(_monomials(self._names))
        self._columns = {term: self._values(term.at) for term in self._terms}
        self._known: dict[Values, Said | None] = {}

    def alike(self) -> tuple[str, str] | None:
        """Two terms that these points do not tell apart."""
        for one, other in combinations(self._terms[1:], 2):
            if len({*map(Fraction, self._columns[one], self._columns[other])}) == 1:
                return one.text, other.text
        return None

    def say(self, values: Values) -> Said | None:
        """The simplest that is each of these at its point; None: there is none."""
        if values not in self._known:
            self._known[values] = next(self._expressions(values), None)
        return self._known[values]

    def _values(self, at: Callable[[Point], int]) -> Values:
        return tuple(map(at, self._points))

    def _expressions(self, values: Values) -> Iterator[Said]:
        if len(set(values)) == 1:
            yield _number(values[0])
        # As many points as there are unknowns, and one that they must be right at, too.
        for count in range(1, min(_MOST_TERMS, len(values) - 1) + 1):
            found = [
                (any(factor < 0 for factor in factors), sum(term.degree for term in terms), at)
                for at, terms in enumerate(combinations(self._terms, count))
                if (factors := self._factors(terms, values)) is not None
            ]
            for _, _, at in sorted(found):
                terms = [*combinations(self._terms, count)][at]
                yield _sum(self._factors(terms, values) or (), terms)
        yield from self._rounded(values)
        yield from self._bounded(values)

    def _factors(self, terms: Sequence[_Term], values: Values) -> tuple[int, ...] | None:
        """Whole ones of each, none of them 0."""
        rows = [
            [Fraction(self._columns[term][at]) for term in terms] + [Fraction(value)]
            for at, value in enumerate(values)
        ]
        for at in range(len(terms)):
            pivot = next((row for row in rows[at:] if row[at]), None)
            if pivot is None:
                return None
            rows.remove(pivot)
            pivot = [each / pivot[at] for each in pivot]
            rows = [[p - row[at] * q for p, q in zip(row, pivot, strict=True)] for row in rows]
            rows.insert(at, pivot)
        if any(row[-1] for row in rows[len(terms) :]):
            return None
        factors = [row[-1] for row in rows[: len(terms)]]
        if any(not factor or factor.denominator != 1 for factor in factors):
            return None
        return tuple(map(int, factors))

    def _rounded(self, values: Values) -> Iterator[Said]:
        """A term that is rounded up, times another, and a number."""
        for term, other, step in product(self._terms[1:], self._terms, _STEPS):
            if term.degree + other.degree > _HIGHEST:
                continue
            column = tuple(
                -(-p // step) * q
                for p, q in zip(self._columns[term], self._columns[other], strict=True)
            )
            line = _line(column, values)
            if line is None:
                continue
            factor, rest = line
            said = f"({term.text}+{step - 1})/{step}*{factor}"
            said += f"*{other.text}" if other.degree else ""
            yield Said(
                said + (f"{rest:+d}" if rest else ""),
                lambda point, term=term, other=other, step=step, factor=factor, rest=rest: (
                    -(-term.at(point) // step) * factor * other.at(point) + rest
                ),
            )

    def _bounded(self, values: Values) -> Iterator[Said]:
        """A term up to a number, or from one on: where two points each show either."""
        for choose, bound in ((min, max(values)), (max, min(values))):
            free = [at for at, value in enumerate(values) if value != bound]
            if len(free) < 2 or len(values) - len(free) < 2:
                continue
            for term in self._terms[1:]:
                column = self._columns[term]
                factor, rest = divmod(values[free[0]], column[free[0]])
                if not rest and values == tuple(choose(bound, factor * each) for each in column):
                    yield Said(
                        f"{choose.__name__}({bound},{factor}*{term.text})",
                        lambda point, choose=choose, bound=bound, factor=factor, term=term: choose(
                            bound, factor * term.at(point)
                        ),
                    )


def _number(value: int) -> Said:
    return Said(str(value), lambda _: value)


def _monomials(names: Sequence[str]) -> Iterator[_Term]:
    """The number 1 first."""
    for powers in sorted(product(range(_OF_ONE + 1), repeat=len(names)), key=lambda p: (sum(p), p)):
        if sum(powers) <= _HIGHEST:
            factors = [name for name, power in zip(names, powers, strict=True) for _ in [0] * power]
            yield _Term(
                "*".join(factors),
                lambda point, factors=factors: prod(point[name] for name in factors),
                len(factors),
            )


def _sum(factors: Sequence[int], terms: Sequence[_Term]) -> Said:
    # What is subtracted last, so that no sum begins with a sign.
    parts = sorted(zip(factors, terms, strict=True), key=lambda part: (part[0] < 0, -part[1].degree))
    text = "".join(
        f"{factor:+d}*{term.text}" if term.degree else f"{factor:+d}" for factor, term in parts
    )
    return Said(
        text.removeprefix("+"),
        lambda point: sum(factor * term.at(point) for factor, term in parts),
    )


def _line(column: Values, values: Values) -> tuple[int, int] | None:
    """factor * column + rest, where that is each of the values."""
    first, last = column.index(min(column)), column.index(max(column))
    if column[first] == column[last]:
        return None
    factor, left = divmod(values[last] - values[first], column[last] - column[first])
    rest = values[first] - factor * column[first]
    if left or factor <= 0 or tuple(factor * each + rest for each in column) != values:
        return None
    return factor, rest
