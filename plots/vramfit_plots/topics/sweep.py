"""Every row of the run, at three levels of truth."""

from vramfit_plots import row_name
from vramfit_plots.captions import caption
from vramfit_plots.cells import sources_of
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import PREDICTED
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.units import OOM, gb, number

_LEVELS = ("allocated", "reserved", "device_used")
_FAMILIES = ("Training", "Inference", "KvCache")


def build(inputs: Inputs) -> list[Table]:
    names = [name for name in inputs.run.rows.index if row_name.family(name) in _FAMILIES]
    sources = sources_of([inputs.cell(name, level) for name in names for level in _LEVELS])

    def per_parameter(row: str) -> float | None:
        allocated = inputs.of(row, PREDICTED, "allocated")
        parameters = inputs.value(row, "params")
        return allocated / parameters if allocated and parameters else None

    def where(row: str) -> str:
        return inputs.peak_stage(row) + (f" ({OOM})" if inputs.value(row, "oom") else "")

    def level(name: str, counter: str) -> Column:
        return Column(name.replace("_", " "), lambda row: inputs.value(row, counter), gb)

    columns = [
        Column("row", str),
        level("article's formula", "article_formula"),
        *(level(f"{s.heading} {one}", s.prefix + one) for s in sources for one in _LEVELS),
        Column(f"{PREDICTED.heading} B/param", per_parameter, number, 2),
        Column("peak in", where, text=True),
    ]
    note = (
        "Peaks in GB (1e9 bytes): allocated is what the step asked for, reserved what the pool "
        "took from the driver, device used what the card lost to the process. "
        f"{OOM} marks a row that takes more than the run's card has."
    )
    below = caption(inputs, f"^({'|'.join(_FAMILIES)})/", note)
    return [listing("rows", "Every row of the run", columns, names, below, long=True)]
