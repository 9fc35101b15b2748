"""Loops of a program whose count hangs on its sizes: lines that come again and again, said once.

A round's registers are those of the round before, so many further; they are written as those of
the second, and after each round move to where the round before had them.
"""

_LONGEST = 120  # lines of a round
_LEAST = 2  # rounds beside the first


def rolled(lines, sign):
    """The same with `("loop", COUNT, STRIDE, FIRST)` … `("again",)` around each loop. `sign`: of
    registers that this part makes."""
    place = 0
    while place < len(lines):
        found = _loop_at(lines, place, sign)
        if found is None:
            place += 1
            continue
        period, stride, rounds = found
        begin = place + period  # the first is left as it is: registers of others lie before its own
        body = lines[begin : begin + period]
        first = min(_made(body, sign))
        end = begin + (rounds - 1) * period
        last = first + (rounds - 2) * stride
        rest = [_renamed(line, sign, last, -(rounds - 1) * stride) for line in lines[end:]]
        head = ("loop", rounds - 1, stride, first)
        lines = [*lines[:begin], head, *map(_without_place, body), ("again",), *rest]
        place = begin + period + 2
    return lines


def _loop_at(lines, place, sign):
    """A loop that begins there: lines and registers of a round, and how many there are."""
    for period in range(3, min(_LONGEST, (len(lines) - place) // (_LEAST + 1)) + 1):
        one = lines[place : place + period]
        made = _made(one, sign)
        if not made or not _alike(lines[place], lines[place + period], sign, len(made)):
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
