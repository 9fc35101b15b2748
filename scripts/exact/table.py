"""How exact the stand-in is, as a table: a row for each file of cases and kind."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vramfit_plots.tables import Table
from vramfit_plots.units import MIB, number, percent, with_unit

from exact.cases import KINDS, Case
from exact.comparison import Line

_PEAKS = ("peak", "peak_reserved")
_ALLOCATOR = ("alloc", "peak", "reserved", "peak_reserved")
# What the card loses may differ by that much, whichever is more.
_OF_DEVICE, _OF_DEVICE_AT_LEAST = 0.003, 16 * MIB


@dataclass(frozen=True)
class Sum:
    """Over cases."""

    cases: int
    as_measured: int  # the highest peaks, allocated and reserved
    readings: int
    peaks: int  # of them, those whose peaks are equal, allocated and reserved
    levels: int  # and those of which all that the allocator holds is
    worst: float  # of the allocator's, relative to what was measured
    device: int  # readings whose device_used is near enough
    seconds: float
    host: int  # bytes, the most of a case


def _highest(stages: Iterable[dict[str, int]]) -> list[int]:
    stages = list(stages)
    return [max(stage[level] for stage in stages) for level in _PEAKS]


def highest_peaks(case: Case, line: Line) -> tuple[list[int], list[int]] | None:
    """As measured and as played, each allocated and reserved; None where it was not played."""
    differences = line.get("differences")
    if differences is None:
        return None
    measured = {name: read for name, read in case.measured.items() if name != "max_batch"}
    played = (
        {level: value + differences.get(name, {}).get(level, 0) for level, value in read.items()}
        for name, read in measured.items()
    )
    return _highest(measured.values()), _highest(played)


def summed(cases: Iterable[tuple[Case, Line]]) -> Sum:
    rows: list[dict[str, Any]] = []
    count = as_measured = 0
    seconds, host = 0.0, 0
    for case, line in cases:
        count += 1
        seconds, host = seconds + line["seconds"], max(host, line["host"])
        measured = {name: read for name, read in case.measured.items() if name != "max_batch"}
        differences = line.get("differences")
        if differences is None:
            rows += [{"peaks": False, "levels": False, "worst": 1.0, "device": False}] * len(
                measured
            )
            continue
        off = {name: differences.get(name, {}) for name in measured}
        theirs, mine = highest_peaks(case, line)
        as_measured += mine == theirs and "max_batch" not in differences
        for name, read in measured.items():
            most = max(_OF_DEVICE * read["device_used"], _OF_DEVICE_AT_LEAST)
            rows.append(
                {
                    "peaks": not off[name].keys() & set(_PEAKS),
                    "levels": not off[name].keys() & set(_ALLOCATOR),
                    "worst": max(
                        abs(off[name].get(level, 0)) / max(read[level], 1) for level in _ALLOCATOR
                    ),
                    "device": abs(off[name].get("device_used", 0)) <= most,
                }
            )
    return Sum(
        cases=count,
        as_measured=as_measured,
        readings=len(rows),
        peaks=sum(row["peaks"] for row in rows),
        levels=sum(row["levels"] for row in rows),
        worst=max(row["worst"] for row in rows),
        device=sum(row["device"] for row in rows),
        seconds=seconds,
        host=host,
    )


def _share(count: int, of: int) -> str:
    return percent(count / of, 1, signed=False)


def _row(head: str, total: Sum) -> list[str]:
    return [
        head,
        number(total.cases),
        number(total.as_measured),
        number(total.readings),
        _share(total.peaks, total.readings),
        _share(total.levels, total.readings),
        percent(total.worst, 2, signed=False),
        _share(total.device, total.readings),
        number(total.seconds),
        number(total.host / MIB),
    ]


def build(lines: Iterable[Line], every: Iterable[Case]) -> Table:
    """Of the lines' cases."""
    by_name = {case.name: case for case in every}
    played = [(by_name[line["name"]], line) for line in lines]
    groups: dict[tuple[str, str], list[tuple[Case, Line]]] = {}
    for case, line in sorted(played, key=lambda pair: (KINDS.index(pair[0].kind), pair[0].file)):
        groups.setdefault((case.kind, case.file), []).append((case, line))
    rows = [_row(f"{kind}\n{file}", summed(group)) for (kind, file), group in groups.items()]
    return Table(
        key="exact",
        title="The stand-in: how near it comes to a GPU",
        headings=[
            "cases",
            "how many",
            "highest peaks\nequal",
            "readings",
            "peaks\nequal",
            "all levels\nequal",
            "worst",
            "device used\nnear enough",
            "seconds",
            "host\nMiB",
        ],
        rows=[*rows, _row("all", summed(played))],
        note="Equal is to the byte, allocated and reserved. A reading has its own peak; all levels "
        "are what is allocated and reserved, then and at most. Device used is near enough within "
        f"{percent(_OF_DEVICE, signed=False)} or {with_unit('16', 'MiB')}. The host's memory is "
        "the most that a case took beyond imports.",
        command="make exact",
    )
