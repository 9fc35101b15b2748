"""Every row of the run, at three levels of truth."""

from vramfit_plots import row_name
from vramfit_plots.captions import caption
from vramfit_plots.cells import sources_of
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import PREDICTED, Source
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, OOM, gb, number

LEVELS = ("allocated", "reserved", "device_used")
FAMILIES = ("Training", "Inference", "KvCache")


def _row(inputs: Inputs, name: str, sources: list[Source]) -> list[str]:
    formula = inputs.value(name, "article_formula")
    allocated = inputs.value(name, f"{PREDICTED.prefix}allocated")
    parameters = inputs.value(name, "params")
    levels = [
        inputs.value(name, f"{source.prefix}{level}") for source in sources for level in LEVELS
    ]
    where = inputs.peak_stage(name)
    if inputs.value(name, "oom"):
        where += f" ({OOM})"
    return [
        name,
        *(MISSING if figure is None else gb(figure) for figure in (formula, *levels)),
        number(allocated / parameters, 2) if allocated and parameters else MISSING,
        where,
    ]


def build(inputs: Inputs) -> list[Table]:
    names = [name for name in inputs.run.rows.index if row_name.family(name) in FAMILIES]
    every = [inputs.cell(name, level) for name in names for level in LEVELS]
    sources = sources_of(every)
    levels = [
        f"{source.heading} {level.replace('_', ' ')}" for source in sources for level in LEVELS
    ]
    headings = ["row", "article's formula", *levels, f"{PREDICTED.heading} B/param", "peak in"]
    return [
        Table(
            key="rows",
            title="Every row of the run",
            headings=headings,
            rows=[_row(inputs, name, sources) for name in names],
            caption=caption(
                inputs,
                f"^({'|'.join(FAMILIES)})/",
                "Peaks in GB (1e9 bytes): allocated is what the step asked for, reserved what the "
                "pool took from the driver, device used what the card lost to the process. "
                f"{OOM} marks a row that takes more than the run's card has.",
            ),
            text_columns=frozenset({len(headings) - 1}),
            long=True,
        )
    ]
