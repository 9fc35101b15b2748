"""Every kept run, by card and date."""

import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import pandas as pd

from vramfit_plots.rows import family
from vramfit_plots.run import UNDATED, Run, instant, kept_runs, load_run

# What may change around the rows, and how it is called.
_AROUND = {
    "gpu": "card",
    "driver": "driver",
    "cuda": "CUDA",
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "nccl": "NCCL",
    "cuda_module_loading": "module loading",
    "tf32": "TF32",
}
_UNKNOWN = "unknown"
_SHOWN = 40  # characters of what a context says


def fact(run: Run, key: str) -> str:
    return textwrap.shorten(run.context.get(key, _UNKNOWN), _SHOWN, placeholder="…") or _UNKNOWN


def when(run: Run) -> datetime:
    return instant(run.context.get("date", ""))


def day(run: Run) -> str:
    """In UTC, as files are named."""
    return _UNKNOWN if when(run) == UNDATED else f"{when(run):%Y-%m-%d}"


def named(run: Run) -> str:
    return f"{day(run)} {fact(run, 'commit')}"


@dataclass(frozen=True)
class Mark:
    """Something around the rows that is other from a run on."""

    position: int  # of that run
    letter: str
    text: str


@dataclass(frozen=True)
class History:
    """Runs are known by their positions, from 0: one card's after another's, each by date."""

    runs: list[Run]

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def cards(self) -> list[str]:
        return list(dict.fromkeys(fact(run, "gpu") for run in self.runs))

    def of_card(self, card: str) -> list[int]:
        return [i for i, run in enumerate(self.runs) if fact(run, "gpu") == card]

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """Consecutive runs of one card."""
        for card in self.cards:
            yield from pairwise(self.of_card(card))

    def rows(self, families: Collection[str], counter: str) -> list[str]:
        """Those that a run has the counter of, in the newest's order."""
        every = (run.rows for run in reversed(self.runs) if counter in run.rows)
        names = dict.fromkeys(name for rows in every for name in rows[counter].dropna().index)
        return [name for name in names if family(name) in families]

    def series(self, row: str, counter: str) -> pd.Series:
        """By position; NaN where the run does not have it."""
        found = [
            run.rows.at[row, counter]
            if row in run.rows.index and counter in run.rows.columns
            else float("nan")
            for run in self.runs
        ]
        return pd.Series(found, dtype=float)

    def changed_around(self, before: int, after: int) -> str:
        """In words; "" where nothing did."""
        old, new = self.runs[before], self.runs[after]
        return ", ".join(
            f"{word} {fact(new, key)}"
            for key, word in _AROUND.items()
            if fact(old, key) != fact(new, key)
        )

    @cached_property
    def marks(self) -> list[Mark]:
        texts = ((after, self.changed_around(after - 1, after)) for after in range(1, len(self)))
        changes = [(after, text) for after, text in texts if text]
        return [Mark(at, _letters(i), text) for i, (at, text) in enumerate(changes)]


def _letters(number: int) -> str:
    """ "a" to "z", then "aa"."""
    more, last = divmod(number, 26)
    return (_letters(more - 1) if more else "") + chr(ord("a") + last)


def load_history(folder: Path) -> History | None:
    """None where `folder`, data/runs, holds no run. Throws BadInputError that names the first that
    cannot be read."""
    runs = sorted(map(load_run, kept_runs(folder)), key=when)
    first = {fact(run, "gpu"): i for i, run in reversed(list(enumerate(runs)))}
    runs.sort(key=lambda run: first[fact(run, "gpu")])
    return History(runs) if runs else None
