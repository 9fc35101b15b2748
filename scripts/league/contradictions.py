"""Where published rows contradict each other or arithmetic. Nothing here rests on a prediction but
`odd_ones`, which holds a table's lengths against each other."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from vramfit_plots.catalogues import Card
from vramfit_plots.units import GB

from league.rows import Row
from league.scores import Score

GIB = 2**30
_ODD = 20e6  # bytes: more than a table's roundings, less than any that were found
_VLLM = ("vLLM log: weights", "vLLM log: activation", "vLLM log: non-torch", "vLLM log: available")


def _groups(rows: Iterable[Row], by: Callable[[Row], Any]) -> Iterator[list[Row]]:
    found = defaultdict(list)
    for row in rows:
        if row.measured is not None:
            found[by(row)].append(row)
    return (group for group in found.values() if len(group) > 1)


def _but(row: Row, *left_out: str) -> Any:
    told = {key: value for key, value in row.told.items() if key not in (*left_out, "notes")}
    return row.page, row.gpu, row.metric, row.figure, tuple(sorted(map(str, told.items())))


def longer_takes_less(rows: Sequence[Row]) -> Iterator[str]:
    """The same run of more tokens, or of more samples, that is said to take less."""
    for size in ("seq", "batch"):
        sized = [row for row in rows if row.told.get(size)]
        for group in _groups(sized, lambda row, size=size: _but(row, size)):
            group.sort(key=lambda row: row.told[size])
            for less, more in pairwise(group):
                if more.measured + more.rounding < less.measured - less.rounding:
                    yield (
                        f"{less.id} and {more.id}: {less.told['model']} at {size} "
                        f"{more.told[size]:,} takes {more.measured / GB:.2f} GB, at "
                        f"{less.told[size]:,} {less.measured / GB:.2f}"
                    )


def told_twice(rows: Sequence[Row]) -> Iterator[str]:
    """Two figures for all that is told of one run."""
    for group in _groups(rows, lambda row: (*_but(row), row.told.get("notes"))):
        low, high = (pick(group, key=lambda row: row.measured) for pick in (min, max))
        if high.measured - high.rounding > low.measured + low.rounding:
            yield (
                f"{low.id} and {high.id}: {low.told['model']}, told alike, takes "
                f"{low.measured / GB:.2f} and {high.measured / GB:.2f} GB"
            )


def impossible(rows: Iterable[Row], cards: Mapping[str, Card]) -> Iterator[str]:
    """Less than nothing, or more than the card has."""
    for row in rows:
        if row.measured is None:
            continue
        if row.measured < 0:
            yield f"{row.id}: {row.told['model']} takes {row.measured / GB:.2f} GB ({row.metric})"
        elif row.card and row.measured / row.gpus > cards[row.card].vram:
            yield f"{row.id}: {row.measured / GB:.2f} GB on {row.gpu}"


def accounts(rows: Iterable[Row]) -> Iterator[str]:
    """vLLM's parts should come to the share of the card that it was told to take."""
    parts = [row for row in rows if row.metric.startswith(_VLLM)]
    for group in _groups(parts, lambda row: (row.source, row.gpu, row.told["model"])):
        flags = group[0].told["flags"]
        wanted = float(re.search(r"gpu-memory-utilization=([\d.]+)", flags)[1])
        card = float(re.search(r"([\d.]+) GiB", group[0].gpu)[1])
        found = sum(row.measured for row in group) / GIB / card
        if abs(found - wanted) > 0.002:  # the roundings of five figures
            yield (
                f"{group[0].id} to {group[-1].id}: {group[0].told['model']}'s parts come to "
                f"{found:.3f} of the card, where it was told to take {wanted}"
            )


def odd_ones(found: Iterable[Score]) -> Iterator[str]:
    """A length of a table that is off by other bytes than the table's other lengths."""
    tables = defaultdict(list)
    for score in found:
        if score.row.figure == "ended" and score.error is not None:
            tables[score.row.source, score.row.told["model"]].append(score)
    for group in tables.values():
        usual = median(score.said.predicted - score.row.measured for score in group)
        for score in group:
            off = score.said.predicted - score.row.measured - usual
            if abs(off) > _ODD:
                yield (
                    f"{score.row.id}: {score.row.told['model']} at {score.row.told['seq']:,} takes "
                    f"{off / 1e6:.0f} MB less than its table's other lengths say"
                )


def every(rows: Sequence[Row], found: Sequence[Score], cards: Mapping[str, Card]) -> list[str]:
    return [
        *longer_takes_less(rows),
        *told_twice(rows),
        *impossible(rows, cards),
        *accounts(rows),
        *odd_ones(found),
    ]
