"""Every row of the run, at three levels of truth."""

from vramfit_plots.captions import command
from vramfit_plots.cells import sources_of
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import PREDICTED
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import OOM, gb, number

_LEVELS = ("allocated", "reserved", "device_used")
_FAMILIES = ("Training", "Inference", "KvCache")


def build(inputs: Inputs) -> list[Table]:
    names, value = inputs.run.names(*_FAMILIES), inputs.value
    sources = sources_of([inputs.cell(name, level) for name in names for level in _LEVELS])

    def per_parameter(row: str) -> float | None:
        allocated, parameters = inputs.of(row, PREDICTED, "allocated"), value(row, "params")
        return allocated / parameters if allocated and parameters else None

    def where(row: str) -> str:
        return inputs.peak_stage(row) + (f" ({OOM})" if value(row, "oom") else "")

    def level(name: str, counter: str) -> Column:
        return Column(name.replace("_", " "), lambda row: value(row, counter), gb)

    columns = [
        Column("row", str),
        level("article's formula", "article_formula"),
        *(level(f"{s.heading} {one}", s.prefix + one) for s in sources for one in _LEVELS),
        Column(f"{PREDICTED.heading} B/param", per_parameter, number, 2),
        Column("peak in", where, text=True),
    ]
    return [
        listing("rows", columns, names, command(inputs, f"^({'|'.join(_FAMILIES)})/"), long=True)
    ]
