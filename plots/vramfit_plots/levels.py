"""What a row takes of the card beyond its tensors: the article has it at 10 to 20 %."""

from dataclasses import dataclass

from vramfit_plots import row_name
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs

ARTICLE_SHARE = (0.10, 0.20)  # what the allocator does not see "can add 10 to 20 %"
_FAMILIES = ("Training", "Inference", "KvCache")


@dataclass(frozen=True)
class Levels:
    """Bytes, measured; the four add up to what the card lost."""

    row: str
    allocated: float
    pool: float  # reserved beyond allocated: rounding and gaps
    overhead: float  # context and libraries, as the GPU's profile has them
    unattributed: float  # what is left, either way

    @property
    def share(self) -> float:
        """What was lost beyond allocated, as a share of it."""
        return (self.pool + self.overhead + self.unattributed) / self.allocated


def measured_levels(inputs: Inputs) -> list[Levels]:
    """Every measured row's, in the run's order; throws AbsentError where there is none."""
    found = []
    for row in inputs.run.rows.index:
        used = inputs.value(row, "mem_device_used")
        if used is None or row_name.family(row) not in _FAMILIES:
            continue
        allocated = inputs.divisor(row, "mem_allocated")
        reserved = inputs.need(row, "mem_reserved")
        unattributed = inputs.need(row, "mem_unattributed")
        overhead = used - reserved - unattributed
        found.append(Levels(row, allocated, reserved - allocated, overhead, unattributed))
    if not found:
        raise AbsentError("mem_device_used: rows measured on a GPU")
    return found
