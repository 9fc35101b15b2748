"""How long a prediction takes."""

from vramfit_plots.captions import command
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import number


def build(inputs: Inputs) -> list[Table]:
    columns = (
        Column("row", str),
        Column("ms", lambda row: inputs.value(row, "milliseconds"), number, 2),
        Column("case", lambda row: inputs.run.rows.at[row, "label"], text=True),
    )
    return [
        listing("latency", columns, inputs.run.names("Estimate"), command(inputs, "^Estimate/"))
    ]
