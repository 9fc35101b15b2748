"""What rows took in a run and no longer in the card's next."""

from collections.abc import Collection
from dataclasses import dataclass

import pandas as pd

from vramfit_plots.history.runs import History
from vramfit_plots.rows import family
from vramfit_plots.units import mib, number

LEVELS = {
    "mem_allocated": "allocated",
    "mem_reserved": "reserved",
    "mem_device_used": "device used",
}
UNATTRIBUTED = "mem_unattributed"
MAX_BATCH = "mem_max_batch"
OVERHEAD = "median"
OOM, FAILED = "oom", "failed"
FLAGS = {OOM: "runs out of memory", FAILED: "fails"}
COUNTERS = {
    **FLAGS,
    **LEVELS,
    UNATTRIBUTED: "unattributed",
    MAX_BATCH: "largest batch",
    OVERHEAD: "bytes",
}
_ERRORS = ["error_occurred", "skipped"]  # as Google Benchmark's versions call it


@dataclass(frozen=True)
class Change:
    row: str
    counter: str
    old: float
    new: float

    @property
    def figure(self) -> str:
        return COUNTERS[self.counter]

    @property
    def is_lost(self) -> bool:
        """The row ran to its end, and no longer does."""
        return self.counter in FLAGS and self.new > self.old

    @property
    def was(self) -> str:
        return self._shown(self.old)

    @property
    def now(self) -> str:
        return self._shown(self.new)

    def _shown(self, value: float) -> str:
        if self.counter in FLAGS:
            return "yes" if value else "no"
        return number(value) if self.counter == MAX_BATCH else mib(value, 2)

    @property
    def difference(self) -> str:
        if self.counter in FLAGS:
            return f"{'now' if self.is_lost else 'no longer'} {self.figure}"
        value = self.new - self.old
        if self.counter == MAX_BATCH:
            return number(value, signed=True)
        return mib(value, 2, signed=True)


@dataclass(frozen=True)
class Transition:
    """From one run of a card to its next."""

    before: int
    after: int
    common: list[str]  # rows of which both have a figure, or one fails in the other's place
    new: int  # rows
    gone: int
    changes: list[Change]

    def moved(self, families: Collection[str] | None = None) -> list[str]:
        """Rows, each once."""
        rows = dict.fromkeys(change.row for change in self.changes)
        return [row for row in rows if families is None or family(row) in families]

    def lost(self, flag: str) -> int:
        return sum(change.is_lost and change.counter == flag for change in self.changes)


def _figures(history: History, run: int) -> pd.DataFrame:
    """Of every row; NaN is absent. What fails has no figures."""
    rows = history.runs[run].rows
    failed = rows.reindex(columns=_ERRORS).max(axis=1).fillna(0)
    figures = rows.reindex(columns=list(COUNTERS)).where(failed == 0)
    return figures.assign(**{FAILED: failed})


def _transition(history: History, before: int, after: int) -> Transition:
    old, new = _figures(history, before), _figures(history, after)
    failing = {*old.index[old[FAILED] > 0], *new.index[new[FAILED] > 0]}

    def compared(rows: pd.DataFrame) -> pd.DataFrame:
        figures = rows.drop(columns=FAILED).notna().any(axis=1)
        return rows[figures | rows.index.isin(failing)]

    old, new = compared(old), compared(new)
    common = [name for name in new.index if name in old.index]
    changes = [
        Change(row, counter, was, now)
        for row in common
        for counter, was, now in zip(COUNTERS, old.loc[row], new.loc[row], strict=True)
        if was < now or was > now  # neither, where one is absent
    ]
    return Transition(
        before, after, common, len(new) - len(common), len(old) - len(common), changes
    )


def transitions(history: History) -> list[Transition]:
    return [_transition(history, before, after) for before, after in history.pairs]
