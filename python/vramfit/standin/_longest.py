"""`--longest`: the first steps get the longest batch that the script's sampler can give."""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler

_PATIENCE = 20.0  # seconds, for looking at rows one by one

_CANNOT = "--longest: which rows are the longest cannot be told"


class Longest:
    """Replaces the order in which DataLoaders take their rows, for as long as `wanted` says so."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        self._wanted = wanted
        self._lengths: dict[int, tuple[Any, list[int]]] = {}  # by dataset, which is kept alive
        #: What there is to tell, a line each.
        self.notes: dict[str, None] = {}
        order = DataLoader._index_sampler.fget  # type: ignore[attr-defined]
        longest = self

        def index_sampler(loader: DataLoader[Any]) -> Any:
            return _LongestFirst(longest, loader, order(loader))

        DataLoader._index_sampler = property(index_sampler)  # type: ignore[assignment,misc]

    def of(self, loader: DataLoader[Any], order: Any) -> Any:
        """The rows of the longest batch; None where it cannot be told, which `notes` does."""
        if isinstance(loader.dataset, IterableDataset) or loader.batch_sampler is None:
            self.notes[f"{_CANNOT}: the script's rows come as a stream"] = None
            return None
        try:
            lengths = self._lengths_of(loader.dataset)
        except Exception as error:  # of the dataset's own code
            self.notes[f"{_CANNOT}: {error}"] = None
            return None
        batches = _batches(order, at_most=len(loader.dataset))
        if not batches:
            return None
        if isinstance(getattr(innermost_sampler(order), "sampler", None), RandomSampler):
            rows = sorted((row for batch in batches for row in batch), key=lengths.__getitem__)
            longest = rows[-max(map(len, batches)) :]
        else:
            longest = max(batches, key=lambda batch: max(lengths[row] for row in batch))
        most = max(lengths[row] for row in longest)
        told = f"the longest batch that its sampler can give came first: {len(longest)} rows"
        self.notes[f"{told}, the longest of {most} tokens"] = None
        return longest

    def wanted(self) -> bool:
        return self._wanted()

    def _lengths_of(self, dataset: Any) -> list[int]:
        known = self._lengths.get(id(dataset))
        if known is None:
            known = self._lengths[id(dataset)] = dataset, _lengths(dataset)
        return known[1]


class _LongestFirst:
    """A DataLoader's batches of rows, or its rows where it makes no batches."""

    def __init__(self, longest: Longest, loader: DataLoader[Any], order: Any) -> None:
        self._longest, self._loader, self._order = longest, loader, order

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Any]:
        first = self._longest.of(self._loader, self._order) if self._longest.wanted() else None
        for batch in self._order:
            yield first if first is not None and self._longest.wanted() else batch


def _batches(order: Any, at_most: int) -> list[Any]:
    """Of one epoch, without what the script draws of random numbers afterwards being others; no
    more than rows, where the sampler has no end."""
    with contextlib.suppress(TypeError, NotImplementedError):
        at_most = len(order)
    state = random.getstate()
    with torch.random.fork_rng(devices=[]):
        try:
            return list(itertools.islice(order, at_most))
        finally:
            random.setstate(state)


def innermost_sampler(order: Any) -> Any:
    """The sampler of batches within those that share it among processes."""
    while hasattr(order, "batch_sampler"):
        order = order.batch_sampler
    return order


def _lengths(dataset: Any) -> list[int]:
    """Of each row. Raises ValueError where that takes too long, or rows have no length."""
    if hasattr(dataset, "with_format") and "input_ids" in getattr(dataset, "column_names", ()):
        import pyarrow.compute

        rows = dataset.with_format("arrow")[:]["input_ids"]
        lengths: list[int] = pyarrow.compute.list_value_length(rows).to_pylist()
        return lengths
    until = time.monotonic() + _PATIENCE
    found = []
    for row in range(len(dataset)):
        found.append(_length(dataset[row]))
        if time.monotonic() > until:
            raise ValueError(f"to look at all rows takes more than {_PATIENCE:.0f} s")
    return found


def _length(row: Any) -> int:
    if isinstance(row, Mapping):
        row = row.get("input_ids", next(iter(row.values()), None))
    elif isinstance(row, (tuple, list)) and row and hasattr(row[0], "__len__"):
        row = row[0]
    try:
        return len(row)
    except TypeError:
        raise ValueError("its rows have no length") from None
