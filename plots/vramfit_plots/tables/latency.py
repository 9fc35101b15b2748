"""How long a prediction takes."""

from vramfit_plots import row_name
from vramfit_plots.captions import caption
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, number

_FAMILY = "Estimate"


def build(inputs: Inputs) -> list[Table]:
    names = [name for name in inputs.run.rows.index if row_name.family(name) == _FAMILY]
    rows = []
    for name in names:
        milliseconds = inputs.value(name, "milliseconds")
        time = MISSING if milliseconds is None else number(milliseconds, 2)
        rows.append([name, time, str(inputs.run.rows.at[name, "label"])])
    return [
        Table(
            key="latency",
            title="How long a prediction takes",
            headings=["row", "ms", "case"],
            rows=rows,
            caption=caption(
                inputs,
                f"^{_FAMILY}/",
                "CPU time of one dry run, allocator and ledger included, on the machine that made "
                "this report.",
            ),
            text_columns=frozenset({2}),
        )
    ]
