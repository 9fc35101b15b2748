"""How long a prediction takes."""

from vramfit_plots import row_name
from vramfit_plots.captions import caption
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.units import number

_FAMILY = "Estimate"


def build(inputs: Inputs) -> list[Table]:
    columns = (
        Column("row", str),
        Column("ms", lambda row: inputs.value(row, "milliseconds"), number, 2),
        Column("case", lambda row: inputs.run.rows.at[row, "label"], text=True),
    )
    rows = [name for name in inputs.run.rows.index if row_name.family(name) == _FAMILY]
    note = (
        "CPU time of one dry run, allocator and ledger included, on the machine that made this "
        "report."
    )
    below = caption(inputs, f"^{_FAMILY}/", note)
    return [listing("latency", "How long a prediction takes", columns, rows, below)]
