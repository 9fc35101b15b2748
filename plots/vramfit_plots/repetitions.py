"""One figure for the repetitions of a row, by the rules of build/compare."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

_TIMES = ("seconds", "_per_second", "real_time", "cpu_time", "milliseconds", "of_bound", "bubble")
_MORE_IS_BETTER = ("max_batch", "ledger_equal")


def _figure(counter: str, values: Sequence[Any]) -> Any:
    """Of memory and flags the worst, of a time the median, of a text the first."""
    if isinstance(values[0], str):
        return values[0]
    if counter.endswith(_TIMES):
        return median(values)
    return min(values) if counter.endswith(_MORE_IS_BETTER) else max(values)


def together(repetitions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A counter that a repetition lacks, or that is None, is of the others; None where of none."""
    counters = dict.fromkeys(counter for row in repetitions for counter in row)
    found = {
        counter: [row[counter] for row in repetitions if row.get(counter) is not None]
        for counter in counters
    }
    return {
        counter: _figure(counter, values) if values else None for counter, values in found.items()
    }
