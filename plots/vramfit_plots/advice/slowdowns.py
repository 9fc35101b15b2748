"""What changes cost in time, as data/slowdowns.json has it."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from vramfit_plots.schemas import read_json
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import number

Comparison = Mapping[str, Any]


def _group(comparison: Comparison) -> tuple[str, ...]:
    return tuple(comparison[key] or "" for key in ("runtime", "mode", "kind", "beside"))


def _time(comparison: Comparison, first: str, setting: str) -> float:
    speeds = comparison["speeds"]
    return speeds[first]["tokens_per_second"] / speeds[setting]["tokens_per_second"]


def _times(comparisons: list[Comparison]) -> str:
    """Each setting beside the first, which is what people have: the median, as `fit` takes it."""
    first, *others = comparisons[0]["speeds"]
    times = {
        setting: median(_time(comparison, first, setting) for comparison in comparisons)
        for setting in others
    }
    return "; ".join(f"{setting}: {number(time, 2)}" for setting, time in times.items())


def _setting(comparisons: list[Comparison]) -> str:
    _, _, kind, beside = _group(comparisons[0])
    return f"{kind}{f', beside {beside}' if beside else ''}"


_COLUMNS = (  # of comparisons of one kind
    Column("runtime", lambda found: ", ".join(_group(found[0])[:2])),
    Column("setting", _setting, text=True),
    Column("from", lambda found: next(iter(found[0]["speeds"])), text=True),
    Column("to: times as long", _times, text=True),
    Column("measured on", lambda found: "; ".join(one["run"] for one in found), text=True),
)


def table(data: Path) -> Table:
    found = read_json(data / "slowdowns.json", "slowdowns")
    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for comparison in found["comparisons"]:
        groups.setdefault(_group(comparison), []).append(comparison)
    return listing("slowdowns", _COLUMNS, groups.values(), gpu=found["gpu"])
