"""Which documents there are, in which order, and what of them is held out: by their names alone."""

import hashlib
from collections.abc import Iterable

_SAID = 120  # characters from which a paragraph that was there before is left out


def rank(name: str) -> int:
    """Of a document among all: what shuffles them, the same everywhere."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def is_held_out(name: str, per_mille: int) -> bool:
    return rank("held out: " + name) % 1000 < per_mille


class Unsaid:
    """Leaves out paragraphs that some document before had, such as licences."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of(self, text: str) -> str:
        return "\n\n".join(part for part in text.split("\n\n") if self._is_new(part)) + "\n"

    def _is_new(self, paragraph: str) -> bool:
        words = " ".join(paragraph.split())
        if len(words) < _SAID:
            return True
        key = rank(words)
        new = key not in self._seen
        self._seen.add(key)
        return new


def up_to(documents: Iterable[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """The first of them by rank, of at most so many characters in all."""
    chosen, characters = [], 0
    for name, text in sorted(documents, key=lambda document: rank(document[0])):
        if characters + len(text) <= most:
            chosen.append((name, text))
            characters += len(text)
    return chosen
