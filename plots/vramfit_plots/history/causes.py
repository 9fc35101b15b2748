"""Why rows took something else than in the run before: a line for each cause, however many rows it
moved. A row's cause is the first level that moved; those above it follow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vramfit_plots.history.changes import (
    FLAGS,
    MAX_BATCH,
    OVERHEAD,
    UNATTRIBUTED,
    Change,
    Transition,
)
from vramfit_plots.units import MIB, MISSING, mib, number, share

MATTERS = 0.001  # of a figure: what moves by less changes no answer
_LEAST = 0.01  # MiB that are shown

# What is moved, by counters; the first that a row has counts.
_CAUSES = {
    "whether it runs": tuple(FLAGS),
    "the largest batch": (MAX_BATCH,),
    "what the step asks for": ("mem_allocated",),
    "what the pool takes for it": ("mem_reserved",),
    "driver and libraries": (OVERHEAD, "mem_device_used", UNATTRIBUTED),
}


_PARTS = (OVERHEAD, UNATTRIBUTED)  # of what a card loses: whether they matter its rows say


def _relative(change: Change) -> float:
    """How far a figure moved, of what it was."""
    if change.counter in _PARTS:
        return 0.0
    return abs(change.new - change.old) / max(abs(change.old), abs(change.new))


def matters(change: Change) -> bool:
    return change.counter in {*FLAGS, MAX_BATCH} or _relative(change) > MATTERS


def mattering(transition: Transition) -> int:
    """How many rows moved by more than a little."""
    return len({change.row for change in transition.changes if matters(change)})


@dataclass(frozen=True)
class Cause:
    what: str
    changes: Sequence[Change]  # of each row one

    @property
    def _told(self) -> Sequence[Change]:
        """A remainder is what is left of another figure, which tells more where there is one."""
        more = [change for change in self.changes if change.counter != UNATTRIBUTED]
        return more or self.changes

    @property
    def _most(self) -> Change:
        return max(self._told, key=_relative)

    @property
    def row(self) -> str:
        """The one that moved most."""
        return self._most.row

    @property
    def share(self) -> str:
        said = self._most.counter not in {*FLAGS, *_PARTS}
        return share(_relative(self._most), 2) if said else MISSING

    @property
    def by(self) -> str:
        """From the lowest to the highest difference."""
        if self._most.counter in FLAGS:
            return "; ".join(dict.fromkeys(change.difference for change in self._told))
        ends = sorted({change.new - change.old for change in self._told})
        if self._most.counter == MAX_BATCH:
            said = [number(end, signed=True) for end in (ends[0], ends[-1])]
        elif max(map(abs, ends)) < _LEAST * MIB:
            said = [f"less than {mib(_LEAST * MIB, 2)}"]
        else:
            said = [mib(end, 2, signed=True) for end in (ends[0], ends[-1])]
        return " to ".join(dict.fromkeys(said))


def causes(transition: Transition) -> Iterator[Cause]:
    """In their order, those that moved nothing left out."""
    known: set[str] = set()
    for what, counters in _CAUSES.items():
        found: dict[str, Change] = {}
        for change in transition.changes:
            if change.counter in counters and change.row not in known:
                found.setdefault(change.row, change)
        known |= found.keys()
        if found:
            yield Cause(what, list(found.values()))
