"""Loops of a program whose count hangs on its sizes: lines that come again and again, said once.

A round's registers are those of the round before, so many further; after each round they move to
where the round before had them. The first round finds there what was made before the loop.
"""

from dataclasses import dataclass

_LONGEST = 120  # lines of a round
_LEAST = 2  # rounds beside the first


def rolled(lines, sign):
    """The same with `("loop", COUNT, STRIDE, FIRST)` … `("again",)` around each loop. `sign`: of
    registers that this part makes."""
    lines = _one_by_one(lines)
    place = 0
    candidates = _candidates(lines, sign)
    while place < len(lines):
        found = _loop_at(lines, place, sign, candidates[len(lines) - place])
        if found is None:
            place += 1
            continue
        period, stride, rounds = found
        body, rest = lines[place : place + period], lines[place + rounds * period :]
        first = min(_made(body, sign))
        last = first + (rounds - 1) * stride
        before = _without_first(lines[:place], body, rest, _Rounds(sign, first, stride, last))
        if before is None:  # it goes on from what is made elsewhere, and stays as it is
            before, body = lines[: place + period], lines[place + period : place + 2 * period]
            count, first = rounds - 1, first + stride
        else:
            count = rounds + 1
        rest = [_renamed(line, sign, last, first - stride - last) for line in rest]
        head = ("loop", count, stride, first)
        lines = [*before, head, *map(_without_place, body), ("again",), *rest]
        place = len(before) + period + 2
    return _together(lines)


def _one_by_one(lines):
    """A line for each tensor that is freed: a last round's may be followed by others."""
    return [
        ("free", word) if line[0] == "free" else line
        for line in lines
        for word in (line[1:] if line[0] == "free" else line[:1])
    ]


def _together(lines):
    kept = []
    for line in lines:
        if line[0] == "free" and kept and kept[-1][0] == "free":
            kept[-1] = (*kept[-1], *line[1:])
        else:
            kept.append(line)
    return kept


@dataclass
class _Rounds:
    """Of a loop, by their registers, but for the very first."""

    sign: str
    first: int  # that the first of them makes
    stride: int
    last: int  # that the last of them makes first

    def number(self, word):
        return int(word[1:]) if isinstance(word, str) and word[:1] == self.sign else -1

    def is_before(self, word):
        """Of the very first round."""
        return self.first - self.stride <= self.number(word) < self.first

    def is_gone(self, word):
        """Of one that another has followed."""
        return self.first - self.stride <= self.number(word) < self.last


def _without_first(before, body, rest, rounds):
    """`before` without the round in front of `body`, and with what that goes on from where a round
    looks for it; None where there is no such round. What it does not find it does not free."""
    found, place = {}, len(before)
    for line in reversed(body):
        if place and _is_first(before[place - 1], line, rounds, found):
            place -= 1
        elif line[0] != "free" or not rounds.is_before(line[1]):
            return None
    places = {word: to for to, word in found.items()}
    behind = [word for line in (*body, *rest) for word in _words(line)]
    if len(places) < len(found) or any(word in places for word in behind):
        return None
    if any(rounds.is_gone(word) for line in rest for word in _words(line)):
        return None
    return [_named(line, places) for line in before[:place]]


def _is_first(line, second, rounds, found):
    """Whether it is that line of the second round, as the first has it. Adds to `found` what the
    first goes on from, by where the second does."""
    words = [list(_words(_without_place(each))) for each in (line, second)]
    if len(words[0]) != len(words[1]):
        return False
    new = {}
    for own, other in zip(*words, strict=True):
        number = rounds.number(other)
        if number >= rounds.first:
            same = own == f"{rounds.sign}{number - rounds.stride}"
        elif rounds.is_before(other):
            is_made_before = 0 <= rounds.number(own) < rounds.first - rounds.stride
            same = is_made_before and {**new, **found}.get(other, own) == own
            new[other] = own
        else:
            same = own == other
        if not same:
            return False
    found.update(new)
    return True


def _named(line, places):
    def named(word):
        if isinstance(word, tuple):
            return tuple(map(named, word))
        if not isinstance(word, str):
            return word
        return ",".join(places.get(part, part) for part in word.split(","))

    return tuple(map(named, line))


def _candidates(lines, sign):
    """By how many lines are left: how long rounds from there on could be, whatever registers they
    name. What is renamed behind a loop stays as far from the end, and the same otherwise."""
    names = {}
    said = [names.setdefault(_without_numbers(line, sign), len(names)) for line in lines]
    found = {left: [] for left in range(len(lines) + 1)}
    for period in range(3, min(_LONGEST, len(lines) // (_LEAST + 1)) + 1):
        same = 0  # lines on end that are as those a round later
        for place in reversed(range(len(lines) - period)):
            same = same + 1 if said[place] == said[place + period] else 0
            if same >= _LEAST * period:
                found[len(lines) - place].append(period)
    return found


def _without_numbers(line, sign):
    return tuple(
        sign if isinstance(word, str) and word[:1] == sign else word
        for word in _words(_without_place(line))
    )


def _loop_at(lines, place, sign, periods):
    """A loop that begins there: lines and registers of a round, and how many there are."""
    for period in periods:
        made = _made(lines[place : place + period], sign)
        if not made:
            continue
        rounds = 1
        while _follows(lines, place + (rounds - 1) * period, period, sign, len(made)):
            rounds += 1
        if rounds > _LEAST:
            return period, len(made), rounds
    return None


def _follows(lines, place, period, sign, stride):
    if place + 2 * period > len(lines):
        return False
    pairs = zip(lines[place : place + period], lines[place + period :], strict=False)
    return all(_alike(a, b, sign, stride) for a, b in pairs)


def _alike(a, b, sign, stride):
    """Whether `b` is `a` of the round after."""
    a, b = _without_place(a), _without_place(b)
    return len(a) == len(b) and all(
        _is_next(x, y, sign, stride) for x, y in zip(_words(a), _words(b), strict=True)
    )


def _is_next(x, y, sign, stride):
    return x == y or (
        isinstance(x, str)
        and isinstance(y, str)
        and x[:1] == y[:1] == sign
        and int(y[1:]) == int(x[1:]) + stride
    )


def _words(line):
    """Flat; results apart."""
    for word in line:
        if isinstance(word, tuple):
            yield from _words(word)
        elif isinstance(word, str) and "," in word:
            yield from word.split(",")
        else:
            yield word


def _made(lines, sign):
    results = [word for line in lines if "=" in line[1:2] for word in line[0].split(",")]
    return {int(word[1:]) for word in results if word[:1] == sign}


def _without_place(line):
    """Which one is selected is of no size."""
    if line[1:3] == ("=", "select.int"):
        return (*line[:5], 0)
    return line


def _renamed(line, sign, least, by):
    def renamed(word):
        if isinstance(word, tuple):
            return tuple(map(renamed, word))
        if not isinstance(word, str) or not word.startswith(sign):
            return word
        parts = [(part[:1], part[1:]) for part in word.split(",")]
        return ",".join(
            f"{mark}{int(rest) + by}" if mark == sign and int(rest) >= least else mark + rest
            for mark, rest in parts
        )

    return tuple(map(renamed, line))
