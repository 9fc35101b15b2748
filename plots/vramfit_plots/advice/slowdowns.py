"""What changes cost in time, as data/slowdowns.json has it."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from vramfit_plots.captions import Caption
from vramfit_plots.schemas import read_json
from vramfit_plots.tables.table import Table
from vramfit_plots.units import number

Comparison = Mapping[str, Any]


def _group(comparison: Comparison) -> tuple[str, ...]:
    return tuple(comparison[key] or "" for key in ("runtime", "mode", "kind", "beside"))


def _time(comparison: Comparison, first: str, setting: str) -> float:
    speeds = comparison["speeds"]
    return speeds[first]["tokens_per_second"] / speeds[setting]["tokens_per_second"]


def _row(comparisons: list[Comparison]) -> list[str]:
    """Each setting beside the first, which is what people have: the median, as `fit` takes it."""
    runtime, mode, kind, beside = _group(comparisons[0])
    first, *others = comparisons[0]["speeds"]
    times = {
        setting: median(_time(comparison, first, setting) for comparison in comparisons)
        for setting in others
    }
    return [
        f"{runtime}, {mode}",
        f"{kind}{f', beside {beside}' if beside else ''}",
        first,
        "; ".join(f"{setting}: {number(time, 2)}" for setting, time in times.items()),
        "; ".join(comparison["run"] for comparison in comparisons),
    ]


def table(data: Path) -> Table:
    found = read_json(data / "slowdowns.json", "slowdowns")
    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for comparison in found["comparisons"]:
        groups.setdefault(_group(comparison), []).append(comparison)
    return Table(
        key="slowdowns",
        title="What changes cost",
        headings=["runtime", "setting", "from", "to: times as long", "measured on"],
        rows=[_row(comparisons) for comparisons in groups.values()],
        caption=Caption(
            f"Time for a token, of what it takes with the setting that is changed; one "
            f"{found['gpu']}. Of several runs the median."
        ),
        text_columns=frozenset(range(1, 5)),
    )
