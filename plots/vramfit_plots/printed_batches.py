"""Whether a card takes the largest batch that the article prints for it, and with how much
activation checkpointing."""

from collections.abc import Iterator
from dataclasses import dataclass

from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import OURS, THEIRS, Source
from vramfit_plots.units import batch

_WAYS = ("none", "selective", "full")  # what saves least, and costs least, first


@dataclass(frozen=True)
class Attempt:
    """The least checkpointing with which the printed batch fits, else what fits most."""

    way: str  # "none", "selective"
    largest: float
    met: bool

    @property
    def plain(self) -> bool:
        return self.way == _WAYS[0]

    @property
    def words(self) -> str:
        """ "met without checkpointing", "met with selective checkpointing: 40"."""
        word = "met" if self.met else "not met"
        if self.plain:
            return f"{word} without checkpointing"
        even = "" if self.met else " even"
        return f"{word}{even} with {self.way} checkpointing: {batch(self.largest)}"


def least_printed(printed: float | str) -> float | None:
    """ "96+" is at least 96; "OOM" asks for nothing."""
    digits = str(printed).removesuffix("+")
    return float(digits) if digits.isdecimal() else None


def _largest(inputs: Inputs, row: str, source: Source) -> Iterator[tuple[str, float]]:
    """By way: the source's own, else what its side has."""
    side = OURS if source in OURS else THEIRS
    for way in _WAYS:
        name = row if way == _WAYS[0] else f"{row}/checkpoint:{way}"
        found = (inputs.value(name, f"{one.prefix}max_batch") for one in (source, *side))
        largest = next((value for value in found if value is not None), None)
        if largest is not None:
            yield way, largest


def attempt(inputs: Inputs, row: str, source: Source, printed: float | str) -> Attempt | None:
    """None where the article prints no batch, or nobody looked for one without checkpointing."""
    least = least_printed(printed)
    if least is None or inputs.value(row, f"{source.prefix}max_batch") is None:
        return None
    found = [Attempt(way, n, n >= least) for way, n in _largest(inputs, row, source)]
    return next((one for one in found if one.met), max(found, key=lambda one: one.largest))
