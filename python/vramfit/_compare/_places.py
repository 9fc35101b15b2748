"""Which line of the old code is which of the new.

Lines move as others come before them, and folders differ between two checkouts. Of each file the
lines that hold memory are laid on each other in order, by what stands in them; one that was
rewritten in its place is the same line.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from vramfit._compare._answers import Answer, Held

_Lines = dict[str, dict[int, str]]  # what stands in each, by file and number


class Places:
    """Names lines of the old answer as the new one does."""

    def __init__(self, old: Answer, new: Answer) -> None:
        before, after = _lines(old), _lines(new)
        self._new: dict[str, str] = {}
        for file, lines in before.items():
            other = _same_file(file, after)
            if other is not None:
                self._align(file, lines, other, after[other])

    def in_new(self, line: str) -> str | None:
        """None: the new code has no such line."""
        return self._new.get(line) if line else ""

    def _align(self, file: str, old: dict[int, str], other: str, new: dict[int, str]) -> None:
        numbers, others = sorted(old), sorted(new)
        texts, other_texts = [old[n] for n in numbers], [new[n] for n in others]
        matcher = SequenceMatcher(None, texts, other_texts, autojunk=False)
        for kind, start, end, from_, to in matcher.get_opcodes():
            if kind == "equal" or (kind == "replace" and end - start == to - from_):
                for mine, theirs in zip(numbers[start:end], others[from_:to], strict=True):
                    self._new[f"{file}:{mine}"] = f"{other}:{theirs}"


def split(line: str) -> tuple[str, int]:
    file, _, number = line.rpartition(":")
    return file, int(number)


def _lines(answer: Answer) -> _Lines:
    found: _Lines = {}
    for held in _all_held(answer):
        for line, text in ((held.line, held.line_text), (held.script, held.script_text)):
            if line:
                file, number = split(line)
                found.setdefault(file, {})[number] = text or str(number)
    return found


def _all_held(answer: Answer) -> Iterable[Held]:
    for stage in answer.stages.values():
        yield from stage.held or ()


def _same_file(file: str, others: Iterable[str]) -> str | None:
    """The one of that path, or of the longest that ends alike."""
    parts = file.split("/")
    best, most = None, 0
    for other in others:
        if other == file:
            return other
        alike = 0
        for mine, theirs in zip(reversed(parts), reversed(other.split("/")), strict=False):
            if mine != theirs:
                break
            alike += 1
        if alike > most:
            best, most = other, alike
    return best
