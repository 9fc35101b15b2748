"""Speed and memory beside PyTorch's, both measured in turn on one GPU."""

from collections.abc import Callable, Mapping
from typing import Any

from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import MISSING, OOM, gb, number

MODES = {"eager": "eager", "compile": "torch.compile"}  # PyTorch's, as the file and as we call them

# A row of ours, a mode, and the figures of both, of which a side may have `oom` or `error` instead.
Pair = tuple[str, str, Mapping[str, Any], Mapping[str, Any]]


def _side(result: Mapping[str, Any], figure: str, form: Callable[[float], str]) -> str:
    if "oom" in result:
        return OOM
    if "error" in result:
        return "failed"
    value = result.get(figure)
    return MISSING if value is None else form(value)


def _figure(heading: str, figure: str, form: Callable[[float], str]) -> Column:
    """Ours over theirs, where both have it, and in small type both."""

    def entry(pair: Pair) -> str:
        *_, ours, theirs = pair
        known = ours.get(figure) and theirs.get(figure)
        head = number(ours[figure] / theirs[figure], 2) if known else MISSING
        return f"{head}\n{_side(ours, figure, form)} / {_side(theirs, figure, form)}"

    return Column(heading, entry)


_COLUMNS = (
    Column("row", lambda pair: pair[0], text=True),
    Column("PyTorch", lambda pair: pair[1], text=True),
    _figure("tokens/s", "tokens_per_second", number),
    _figure("allocated, GB", "allocated", gb),
    _figure("reserved, GB", "reserved", gb),
    _figure("device used, GB", "device_used", gb),
)


def build(inputs: Inputs) -> list[Table]:
    found = inputs.comparison
    if found is None:
        raise AbsentError("a comparison with PyTorch on the same card")
    pairs: list[Pair] = [
        (case["row"], name, case["vramfit"], case[mode])
        for case in found["cases"]
        for mode, name in MODES.items()
        if mode in case
    ]
    return [listing("comparison", _COLUMNS, pairs, found["context"].get("command", ""))]
