"""Parts of a tape's programs, told by what an earlier part has: which of its lines are kept, which
are left out, and those that stand between. What only a part names is called there as its base has
it."""

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import product

_TRIED = 3  # of what a part could be told by, the nearest
_LEAST = (1, 3, 6, 12)  # lines in a row that are taken for the same ones


class Parts:
    """Those that are written so far. `shared`: registers of programs that layers name."""

    def __init__(self, shared):
        self._shared = {*shared, "%0"}
        self._known = []  # how each is named, its lines, and how often it has each of them

    def told(self, part, program, lines):
        """How a tape says the part of that program."""
        sign = "%" if part == "main" else "$"
        counted = Counter(_masked(lines, sign))
        alike = [each for each in self._known if (each[0][0] == "main") == (part == "main")]
        alike.sort(key=lambda each: -(counted & each[2]).total() / max(1, len(each[1])))
        best, own = [part, *lines, "end"], lines
        for ((of, named), base, _), least in product(alike[:_TRIED], _LEAST):
            edit = _Edit(base, sign, self._shared)
            edit.run(lines, least)
            head = f"{part} from {' '.join([*of.split()[1:], named])}"
            if edit.is_whole and _length([head, *edit.told, "end"]) < _length(best):
                best, own = [head, *edit.told, "end"], edit.lines
        self._known.append(((part, program), own, counted))
        return best


def _length(lines):
    return sum(len(line) + 1 for line in lines)


def _masked(lines, sign):
    return [re.sub(rf"\{sign}\d+", sign, line) for line in lines]


class _Edit:
    """Of a base into other lines: what a tape says, and the lines that come of it."""

    def __init__(self, base, sign, shared):
        self._base, self._sign, self._named = base, sign, re.compile(rf"\{sign}\d+")
        self._calls = {word: word for word in shared if word[:1] == sign}
        self._taken = set(self._calls)
        self._loops = []  # places of the lines that begin them
        self._at = 0  # so far the base is told
        self.told, self.lines, self.is_whole = [], [], True

    def run(self, lines, least):
        words = self._named.findall(" ".join([*self._base, *lines, *self._calls]))
        self._next = 1 + max((int(word[1:]) for word in words), default=0)
        masked = (_masked(each, self._sign) for each in (self._base, lines))
        place = 0
        for begin, own, count in SequenceMatcher(None, *masked, False).get_matching_blocks():
            for line in lines[place:own]:
                self._say(line)
            for k in range(count):
                self._keep(begin + k, lines[own + k], names=count >= least)
            place = own + count
        for place in self._loops:
            self._move_loop(place)

    def _keep(self, place, line, names):
        """Or say it, where the base calls something otherwise, or what has no name yet may get
        none; what it makes is called as there all the same."""
        other = self._base[place]
        made = line.partition(" = ")[0] if " = " in line else ""
        new = self._new_names(line, other) if names else {}
        words = self._named.findall(line), self._named.findall(other)
        is_same = all(
            {**self._calls, **new}.get(a) == b for a, b in zip(*words, strict=True)
        ) and not line.startswith("loop ")
        for word, to in new.items():
            if is_same or word in self._named.findall(made):
                self._calls[word] = to
                self._taken.add(to)
        if not is_same:
            self._say(line)
            return
        if place > self._at:
            self.told.append(f"skip {place - self._at}")
        if self.told and self.told[-1].startswith("same "):
            self.told[-1] = f"same {int(self.told[-1][5:]) + 1}"
        else:
            self.told.append("same 1")
        self._at = place + 1
        self.lines.append(other)

    def _new_names(self, line, other):
        """Of what has none, as the base has them where nothing else is called so."""
        new = {}
        for own, to in zip(self._named.findall(line), self._named.findall(other), strict=True):
            if own not in self._calls and to not in self._taken and to not in new.values():
                new.setdefault(own, to)
        return new

    def _say(self, line):
        if line.startswith("loop "):
            self._loops.append((len(self.told), len(self.lines)))
        own = self._named.sub(lambda word: self._call(word.group()), line)
        self.told.append(own)
        self.lines.append(own)

    def _call(self, word):
        if word not in self._calls:
            self._calls[word] = f"{self._sign}{self._next}"
            self._next += 1
        return self._calls[word]

    def _move_loop(self, places):
        """To where its registers are, if they are still one after another."""
        told, own = places
        head, count, stride, first = self.lines[own].split()
        made = range(int(first) - int(stride), int(first) + int(stride))
        moved = {
            int(self._calls[word][1:]) - number
            for number in made
            if (word := f"{self._sign}{number}") in self._calls
        }
        self.is_whole = self.is_whole and len(moved) == 1
        line = " ".join([head, count, stride, str(int(first) + min(moved, default=0))])
        self.told[told] = self.lines[own] = line
