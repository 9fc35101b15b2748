"""What whole numbers of a program are, from what they were at several sizes."""

import operator
from itertools import combinations_with_replacement, product

_FACTORS = (2, 3, 4, 8)
_SHIFTS = (-1, 1, -2, 2, -3, 3)
_FRACTIONS = (1, 2, 3, 4, 5, 6, 8, 12, 16)


class Solver:
    """Of numbers that hang on symbols: a batch, a length, keys of a config."""

    def __init__(self, points):
        """`points`: of each size that was traced, the symbols' values."""
        names = set.intersection(*(set(point) for point in points))
        values = {name: tuple(point[name] for point in points) for name in sorted(names)}
        self._known = {}
        self._varied = {name: each for name, each in values.items() if len(set(each)) > 1}
        for text, each in _candidates(self._varied):
            self._known.setdefault(each, text)
        single = list(self._varied.items())
        products = list(_products(single))
        self._terms = [*single, *_with_numbers(single), *products]
        self._terms += [*_with_numbers(products), *_sums(single, single)]

    def say(self, values):
        """An expression that is each of these at its point, or None."""
        values = tuple(values)
        if len(set(values)) == 1:
            return str(values[0])
        found = self._known.get(values)
        if found is None and all(each < 0 for each in values):
            positive = self.say(-each for each in values)
            return f"0-({positive})" if positive else None
        if found is None:
            found = self._known[values] = self._composed(values)
        return found

    def _composed(self, values):
        """Of two that are known: a factor and the rest, or a term and the rest."""
        for name, factor in self._varied.items():
            rest = tuple(p // q for p, q in zip(values, factor, strict=True))
            if _each(operator.mul, rest, factor) != values:
                continue
            said = str(rest[0]) if len(set(rest)) == 1 else self._known.get(rest) or self._sum(rest)
            if said:
                return f"{name}*({said})"
        return self._sum(values)

    def _sum(self, values):
        for text, term in self._terms:
            said = self._known.get(_each(operator.sub, values, term))
            if said:
                return f"{text}+{said}"
        for text, term in self._terms:
            said = self._known.get(_each(operator.add, values, term))
            if said:
                return f"{said}-({text})"
        return None


def _candidates(varied):
    """Expressions and what they are at each point, from the simplest on."""
    single = list(varied.items())
    products = list(_products(single))
    yield from single
    yield from _with_numbers(single)
    yield from products
    yield from _sums(single, single)
    yield from _shared(products, single)
    yield from _sums(products, [*single, *products])
    yield from _fractions(products)
    yield from ((f"2*{a}", tuple(2 * p for p in x)) for a, x in _shared(products, single))


def _with_numbers(terms):
    for factor in _FACTORS:
        yield from ((f"{factor}*{a}", tuple(factor * p for p in x)) for a, x in terms)
    for factor in _FACTORS:
        yield from (
            (f"{a}/{factor}", tuple(p // factor for p in x))
            for a, x in terms
            if all(p % factor == 0 for p in x)
        )
    for shift in _SHIFTS:
        yield from ((f"{a}{shift:+d}", tuple(p + shift for p in x)) for a, x in terms)


def _products(terms):
    """And quotients that are whole."""
    for (a, x), (b, y) in combinations_with_replacement(terms, 2):
        yield f"{a}*{b}", _each(operator.mul, x, y)
    yield from _quotients(terms, terms)


def _quotients(terms, parts):
    for (a, x), (b, y) in product(terms, parts):
        if a != b and all(q and p % q == 0 for p, q in zip(x, y, strict=True)):
            yield f"{a}/{b}", _each(operator.floordiv, x, y)


def _sums(terms, others):
    for (a, x), (b, y) in product(terms, others):
        yield f"{a}+{b}", _each(operator.add, x, y)
        yield f"{a}-{b}", _each(operator.sub, x, y)


def _shared(products, terms):
    """Three factors."""
    for (a, x), (b, y) in product(products, terms):
        yield f"{a}*{b}", _each(operator.mul, x, y)
    yield from _quotients(products, terms)


def _fractions(products):
    yield from _with_numbers(products)
    for (a, x), factor, part in product(products, _FRACTIONS, _FRACTIONS):
        if factor < part and all(p * factor % part == 0 for p in x):
            yield f"{factor}*{a}/{part}", tuple(p * factor // part for p in x)


def _each(op, x, y):
    return tuple(op(p, q) for p, q in zip(x, y, strict=True))


def _is_real(word):
    try:
        return isinstance(word, str) and float(word) != 0
    except ValueError:
        return False


class NoSizeError(Exception):
    """A number that no expression explains."""


def merged(programs, solver):
    """Lines of the same program at several sizes, with expressions for what differs."""
    counts = {len(lines) for lines in programs}
    if len(counts) != 1:
        raise NoSizeError(f"programs of {sorted(counts)} lines")
    return [_line(words, solver) for words in zip(*programs, strict=True)]


# Numbers that these take are values, and no sizes.
_VALUES = {
    "add", "sub", "rsub", "mul", "div", "remainder", "floor_divide", "eq", "ne", "lt", "le", "gt",
    "ge", "clamp", "clamp_", "masked_fill", "masked_fill_", "add_", "sub_", "mul_", "div_",
}  # fmt: skip


# Of these a factor is one, or another one.
_SCALED = {"baddbmm"}


def _line(words, solver):
    name = words[0][2] if len(words[0]) > 2 and words[0][1] == "=" else ""
    op = name.partition(".")[0] if isinstance(name, str) else ""
    real = "0.5" if op in _SCALED else "1.0"
    return " ".join(_word(each, solver, op in _VALUES, real) for each in zip(*words, strict=True))


def values_apart(lines):
    """The same, of numbers that are of no size."""
    return [_without_values(line.split()) for line in lines]


def _without_values(words):
    if len(words) > 2 and words[2].partition(".")[0] in _VALUES:
        return " ".join("1.0" if _is_real(each) else each for each in words)
    return " ".join(words)


def _word(words, solver, values=False, real="1.0"):
    first = words[0]
    if isinstance(first, tuple):
        if len({len(each) for each in words}) != 1:
            raise NoSizeError(f"lists of different lengths: {words}")
        inner = [_word(each, solver) for each in zip(*words, strict=True)]
        return "[" + ",".join(inner[1:-1]) + "]"
    if all(isinstance(each, int) for each in words):
        said = solver.say(words)
        if said is None and values:
            return "1"
        if said is None:
            raise NoSizeError(f"{words} is of no symbol")
        return said
    if all(_is_real(each) for each in words) and len(set(words)) > 1:
        return real  # of a size; what it is, is of no size
    if any(each != first for each in words):
        raise NoSizeError(f"{words}: not the same op or tensor at all sizes")
    return first
