"""What moved from one release of PyTorch and transformers to the next."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.releases import Release, Releases
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import GB, MIB, number

_COMMAND = "make releases"
_LEAST = 0.01  # MiB: what is less is not shown
_LINES = 2  # that moved most


@dataclass(frozen=True)
class Moved:
    """A case whose peaks are others in the release that follows."""

    old: Release
    new: Release
    case: str
    allocated: float  # MiB more
    reserved: float
    where: str

    @property
    def releases(self) -> str:
        return f"{self.old.name}\n{self.new.name}"


def _lines(change: Mapping[str, Any], case: str) -> str:
    """Of a case that is told of, those that moved most, in the stage that did."""
    for row in change["rows"]:
        if row["case"] == case and row["moved"]:
            stage = max(row["moved"], key=lambda stage: abs(stage["peak"][1] - stage["peak"][0]))
            if stage["lines"] is None:
                return "which line, PyTorch 2.9 does not tell"
            return "; ".join(map(_line, stage["lines"][:_LINES]))
    return ""


def _line(line: Mapping[str, Any]) -> str:
    place = "/".join(line["line"].split("/")[-2:]) or "no line of Python"
    backward = "backward of " if line["in_backward"] else ""
    more = number((line["new"] - line["old"]) / MIB, 2, signed=True)
    return f"{more} MiB {line['component'].replace('_', ' ')}, {backward}{place}"


def _moved(found: Releases) -> Iterator[Moved]:
    for (old, new), change in zip(pairwise(found.in_order), found.changes, strict=True):
        for case in old.readings:
            before, after = old.highest(case), new.highest(case)
            if before is None or after is None:
                continue
            more = [(now - then) / MIB for then, now in zip(before, after, strict=True)]
            if max(map(abs, more)) >= _LEAST:
                yield Moved(old, new, case, *more, _lines(change, case))


def _signed(more: float) -> str:
    return number(more, 2, signed=True)


def build(inputs: Inputs) -> list[Table]:
    if inputs.releases is None:
        raise AbsentError("data/releases")
    found = inputs.releases
    cases: Sequence[str] = list(found.in_order[0].readings)
    columns = [
        Column("case", str),
        *(Column(release.name, partial(_peaks, release=release)) for release in found.in_order),
    ]
    moved = (
        Column("releases", "releases"),
        Column("case", "case", text=True),
        Column("allocated, MiB", "allocated", _signed),
        Column("reserved, MiB", "reserved", _signed),
        Column("where", "where", text=True),
    )
    return [
        listing("releases", columns, [c for c in cases if "llama2-7b" in c], _COMMAND),
        listing("releases_moved", moved, _moved(found), _COMMAND, long=True),
    ]


def _peaks(case: str, release: Release) -> str | None:
    found = release.highest(case)
    if found is None:
        return None
    allocated, reserved = (number(size / GB, 3) for size in found)
    return f"{allocated}\nreserved {reserved}"
