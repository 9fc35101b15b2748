"""Speed and memory beside PyTorch's, both measured in turn on one GPU."""

from collections.abc import Callable, Mapping
from typing import Any

from vramfit_plots.captions import Caption
from vramfit_plots.comparison import Pair
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, OOM, gb, number

_FIGURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "tokens_per_second": ("tokens/s", number),
    "allocated": ("allocated, GB", gb),
    "reserved": ("reserved, GB", gb),
    "device_used": ("device used, GB", gb),
}
_FAILED = "failed"


def _side(result: Mapping[str, Any], figure: str) -> str:
    if "oom" in result:
        return OOM
    if "error" in result:
        return _FAILED
    value = result.get(figure)
    return MISSING if value is None else _FIGURES[figure][1](value)


def _entry(pair: Pair, figure: str) -> str:
    """The ratio, and in small type both figures."""
    ratio = pair.ratio(figure)
    head = MISSING if ratio is None else number(ratio, 2)
    return f"{head}\n{_side(pair.ours, figure)} / {_side(pair.theirs, figure)}"


def build(inputs: Inputs) -> list[Table]:
    if inputs.comparison is None:
        return []
    return [
        Table(
            key="comparison",
            title="Against PyTorch on the same card",
            headings=["row", "PyTorch", *(heading for heading, _ in _FIGURES.values())],
            rows=[
                [pair.row, pair.mode, *(_entry(pair, figure) for figure in _FIGURES)]
                for pair in inputs.comparison.pairs
            ],
            caption=Caption(
                "Each cell has vramfit's figure over PyTorch's, and below it both. A ratio of "
                "tokens/s above 1 means that vramfit is faster, one of memory below 1 that it "
                "takes less. Peaks are over all steps, in GB (1e9 bytes); tokens/s are the median "
                "step's. Model, batch and length are the same on both sides, each in its own "
                "process.",
                inputs.comparison.context.get("command", ""),
            ),
            text_columns=frozenset({0, 1}),
        )
    ]
