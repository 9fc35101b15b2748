"""Speed and memory beside PyTorch's, both measured in turn on one GPU."""

from collections.abc import Callable, Mapping
from typing import Any

from vramfit_plots.comparison import Pair
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import MISSING, OOM, gb, number


def _side(result: Mapping[str, Any], figure: str, form: Callable[[float], str]) -> str:
    if "oom" in result:
        return OOM
    if "error" in result:
        return "failed"
    value = result.get(figure)
    return MISSING if value is None else form(value)


def _figure(heading: str, figure: str, form: Callable[[float], str]) -> Column:
    """The ratio, and in small type both figures."""

    def entry(pair: Pair) -> str:
        ratio = pair.ratio(figure)
        head = MISSING if ratio is None else number(ratio, 2)
        return f"{head}\n{_side(pair.ours, figure, form)} / {_side(pair.theirs, figure, form)}"

    return Column(heading, entry)


_COLUMNS = (
    Column("row", "row", text=True),
    Column("PyTorch", "mode", text=True),
    _figure("tokens/s", "tokens_per_second", number),
    _figure("allocated, GB", "allocated", gb),
    _figure("reserved, GB", "reserved", gb),
    _figure("device used, GB", "device_used", gb),
)


def build(inputs: Inputs) -> list[Table]:
    found = inputs.comparison
    if found is None:
        raise AbsentError("a comparison with PyTorch on the same card")
    return [listing("comparison", _COLUMNS, found.pairs, found.context.get("command", ""))]
