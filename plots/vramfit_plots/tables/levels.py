"""The three levels of every measured row, and what is between them."""

from vramfit_plots.captions import caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.levels import ARTICLE_SHARE, measured_levels
from vramfit_plots.tables.table import Table
from vramfit_plots.units import gb, mib, percent


def build(inputs: Inputs) -> list[Table]:
    try:
        every = measured_levels(inputs)
    except AbsentError:
        return []
    low, high = ARTICLE_SHARE
    within = sum(low <= levels.share <= high for levels in every)
    cells = [inputs.cell(levels.row, "device_used") for levels in every]
    return [
        Table(
            key="levels",
            title="What the allocator does not see",
            headings=[
                "row",
                "allocated, GB",
                "reserved beyond it",
                "context and libraries",
                "unattributed",
                "beyond allocated",
            ],
            rows=[
                [
                    levels.row,
                    gb(levels.allocated, 2),
                    mib(levels.pool),
                    mib(levels.overhead),
                    mib(levels.unattributed),
                    percent(levels.share, signed=False),
                ]
                for levels in every
            ],
            caption=caption(
                inputs,
                cells,
                "^(Training|Inference|KvCache)/",
                f"The article says {percent(low, 0, signed=False)} to "
                f"{percent(high, 0, signed=False)}; {within} of {len(every)} rows are within.",
            ),
        )
    ]
