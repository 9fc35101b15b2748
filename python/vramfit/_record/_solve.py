"""What a size in bytes is of what was varied, from what it was at several points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import prod

Point = Mapping[str, int]
Values = tuple[int, ...]

_HIGHEST = 3  # of a term's degree: batch * seq * seq
_OF_ONE = 2  # the same, of one name
_MOST_TERMS = 3
_ALIGNED = 32
_POWERS = tuple(1 << power for power in range(1, 14))
# What PyTorch and cub are known to cut work into, on one card or another: rows a thread in
# EmbeddingBackwardKernel.cu; tiles of DeviceRadixSort, UniqueByKey and Scan (as
# runtimes/pytorch/torch/ops/cub.cpp has them).
_KNOWN = (10, 4608, 3840, 2816, 5376, 3072, 5632, 4480, 1792, 320, 1920, 896)
# What else kernels may: a few a thread, rows of a warp, tiles of cub's.
_TILES = sorted((*range(3, 64), *range(64, 8193, 32)), key=lambda unit: -(unit & -unit))


@dataclass(frozen=True)
class Term:
    """A product of names, or the number 1."""

    names: tuple[str, ...]

    @property
    def text(self) -> str:
        return "*".join(self.names) or "1"

    def at(self, point: Point) -> int:
        return prod(point[name] for name in self.names)


@dataclass(frozen=True)
class Rounded:
    """How often a number goes into a term, rounded up or down; of that, what a bound leaves."""

    term: Term
    unit: int = 1
    down: bool = False
    most: int | None = None
    least: int | None = None
    times: Term = Term(())

    @property
    def text(self) -> str:
        text = self.term.text
        if self.unit > 1:
            text = (
                f"({text}/{self.unit})" if self.down else f"(({text}+{self.unit - 1})/{self.unit})"
            )
        if self.most is not None:
            text = f"min({text},{self.most})"
        if self.least is not None:
            text = f"max({text},{self.least})"
        return f"{text}*{self.times.text}" if self.times.names else text

    def at(self, point: Point) -> int:
        value = self.term.at(point)
        value = value // self.unit if self.down else -(-value // self.unit)
        if self.most is not None:
            value = min(value, self.most)
        if self.least is not None:
            value = max(value, self.least)
        return value * self.times.at(point)


@dataclass(frozen=True)
class Said:
    """An expression: a sum of terms, each so many times."""

    parts: tuple[tuple[int, Term | Rounded], ...]

    @property
    def text(self) -> str:
        texts = [f"{f:+d}" if term == ONE else f"{f:+d}*{term.text}" for f, term in self.parts]
        return "".join(texts).removeprefix("+")

    def at(self, point: Point) -> int:
        return sum(factor * term.at(point) for factor, term in self.parts)


ONE = Term(())


class Solver:
    """Of sizes at these points."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = points
        self.terms = list(_monomials([*points[0]]))
        self._known: dict[tuple[tuple[int, ...], Values], Said | None] = {}

    def alike(self) -> tuple[str, str] | None:
        """Two terms that these points do not tell apart."""
        for one, other in combinations(self.terms[1:], 2):
            if len({Fraction(one.at(each), other.at(each)) for each in self._points}) == 1:
                return one.text, other.text
        return None

    def say(self, values: Mapping[int, int]) -> Said | None:
        """The simplest that is each of these at the point of that number; None: there is none."""
        key = tuple(values), tuple(values.values())
        if key not in self._known:
            points = [self._points[number] for number in values]
            self._known[key] = next(_expressions(self.terms, points, key[1]), None)
        return self._known[key]


def _monomials(names: Sequence[str]) -> Iterator[Term]:
    """The number 1 first."""
    for powers in sorted(product(range(_OF_ONE + 1), repeat=len(names)), key=lambda p: (sum(p), p)):
        if sum(powers) <= _HIGHEST:
            parts = zip(names, powers, strict=True)
            yield Term(tuple(name for name, power in parts for _ in range(power)))


def _expressions(terms: Sequence[Term], points: Sequence[Point], values: Values) -> Iterator[Said]:
    if len(set(values)) == 1:
        yield Said(((values[0], ONE),))
    # As many points as there are unknowns, and one that they must be right at, too.
    for count in range(1, min(_MOST_TERMS, len(values) - 1) + 1):
        yield from _sums(list(combinations(terms, count)), points, values)
    spare = len(values) - 1  # what is rounded to is one more unknown
    yield from _with_rounded(terms, points, values, _POWERS, min(2, spare - 1))
    yield from _bounded(terms, points, values)
    if spare >= _MOST_TERMS + 1:
        yield from _with_rounded(terms, points, values, _KNOWN, _MOST_TERMS)
    if spare >= _MOST_TERMS + 1:
        yield from _with_rounded(terms, points, values, _TILES, _MOST_TERMS)


def _sums(
    selections: Sequence[tuple[Term | Rounded, ...]], points: Sequence[Point], values: Values
) -> Iterator[Said]:
    """Those of positive factors first, and of lower terms."""
    found = []
    for at, terms in enumerate(selections):
        factors = _factors([[term.at(point) for point in points] for term in terms], values)
        if factors is not None:
            degree = sum(len(term.names) for term in terms if isinstance(term, Term))
            found.append((any(each < 0 for each in factors), degree, at, factors))
    for _, _, at, factors in sorted(found):
        parts = zip(factors, selections[at], strict=True)
        yield Said(tuple(sorted(parts, key=lambda part: part[1] == ONE)))


def _factors(columns: Sequence[Sequence[int]], values: Values) -> tuple[int, ...] | None:
    """Whole ones of each column, none of them 0, that make the values."""
    for rows in combinations(range(len(values)), len(columns)):
        matrix = [[column[row] for column in columns] for row in rows]
        whole = _determinant(matrix)
        if not whole:
            continue
        factors = []
        for at in range(len(columns)):
            replaced = [
                [*line[:at], values[row], *line[at + 1 :]]
                for line, row in zip(matrix, rows, strict=True)
            ]
            factor, rest = divmod(_determinant(replaced), whole)
            if rest or not factor:
                return None
            factors.append(factor)
        for row, value in enumerate(values):
            if sum(f * column[row] for f, column in zip(factors, columns, strict=True)) != value:
                return None
        return tuple(factors)
    return None


def _determinant(matrix: Sequence[Sequence[int]]) -> int:
    if len(matrix) == 1:
        return matrix[0][0]
    if len(matrix) == 2:
        (a, b), (c, d) = matrix
        return a * d - b * c
    (a, b, c), (d, e, f), (g, h, i) = matrix
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def _with_rounded(
    terms: Sequence[Term],
    points: Sequence[Point],
    values: Values,
    units: Sequence[int],
    most: int,
) -> Iterator[Said]:
    """A term that is rounded, perhaps times another, and up to `most` unknowns in all."""
    for count, unit, term, down in product(range(1, most + 1), units, terms[1:], (False, True)):
        whole = all(term.at(point) % unit == 0 for point in points)
        if whole and (count > 1 or down or units is not _POWERS):
            continue  # as good as not rounded; a part of a term is told by that alone
        multiples = [ONE]
        if units is _POWERS:
            multiples += [each for each in terms[1:] if not {*each.names} & {*term.names}]
        for times in multiples:
            rounded = Rounded(term, unit, down, times=times)
            # What is aligned to 256 bytes is, of 8 bytes each, rounded to 32.
            aligned: Term | Rounded = Rounded(term, _ALIGNED)
            others = ((), (ONE,), (ONE, term), (ONE, aligned))
            found = [(rounded, *more) for more in others if len(more) == count - 1]
            for said in _sums(found, points, values):
                if all(factor > 0 or part == ONE for factor, part in said.parts):
                    yield said


def _bounded(terms: Sequence[Term], points: Sequence[Point], values: Values) -> Iterator[Said]:
    """A term, rounded, up to a number or from one on."""
    for is_most in (True, False):
        bound = max(values) if is_most else min(values)
        free = [at for at, value in enumerate(values) if value != bound]
        # Where one point alone shows the bound, many are to show the rest.
        if len(free) < (2 if len(values) - len(free) > 1 else 4):
            continue
        for unit, term, is_down in product((1, *_POWERS), terms[1:], (False, True)):
            once = Rounded(term, unit, is_down).at(points[free[0]])
            factor, rest = divmod(values[free[0]], once) if once else (0, 0)
            if rest or not factor or bound % factor:
                continue
            end = bound // factor
            most, least = (end, None) if is_most else (None, end)
            said = Said(((factor, Rounded(term, unit, is_down, most, least)),))
            free_of_it = Said(((factor, Rounded(term, unit, is_down)),))
            if all(
                free_of_it.at(point) == value for point, value in zip(points, values, strict=True)
            ):
                continue
            if all(said.at(point) == value for point, value in zip(points, values, strict=True)):
                yield said
