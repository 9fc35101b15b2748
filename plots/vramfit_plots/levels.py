"""What a run takes of the card beyond its tensors: the article has it at 10 to 20 %."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from vramfit_plots import row_name
from vramfit_plots.accuracy.cases import Case
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.units import GB, gigabytes, percent

LEAST = 5 * GB  # allocated: of smaller runs the context alone, which is the same for all, is 10 %
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


def article_range(inputs: Inputs) -> tuple[float, float]:
    """What the allocator does not see "can add", as shares."""
    claim = inputs.article.claim("outside_the_allocator")
    return claim["low"] / 100, claim["high"] / 100


def pytorch_cases(inputs: Inputs) -> list[Case]:
    """Those measured in PyTorch that are large enough to judge the article by."""
    return [case for case in inputs.reference.cases if case.peak["peak"] > LEAST]


@dataclass(frozen=True)
class Spread:
    """How many shares lie where, of the article's range."""

    below: int
    within: int
    above: int
    shares: Sequence[float]

    @property
    def count(self) -> int:
        return len(self.shares)

    @property
    def median(self) -> float:
        return median(self.shares)


def spread(inputs: Inputs, shares: Sequence[float]) -> Spread:
    low, high = article_range(inputs)
    below, above = (sum(s < low for s in shares), sum(s > high for s in shares))
    return Spread(below, len(shares) - below - above, above, shares)


def pytorch_spread(inputs: Inputs) -> Spread:
    cases = pytorch_cases(inputs)
    if not cases:
        raise AbsentError("cases measured in PyTorch")
    return spread(inputs, [case.beyond_allocated for case in cases])


def pytorch_in_words(found: Spread) -> str:
    return (
        f"of {found.count} cases over {gigabytes(LEAST, 0)} measured in PyTorch {found.within} lie "
        f"within, {found.below} below and {found.above} above; their median is "
        f"{percent(found.median, signed=False)}"
    )
