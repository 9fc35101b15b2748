"""The three levels of what was measured, and what is between them, vramfit's and PyTorch's."""

from vramfit_plots.accuracy.cases import Case
from vramfit_plots.captions import Caption, caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.levels import (
    LEAST,
    article_range,
    measured_levels,
    pytorch_cases,
    spread,
)
from vramfit_plots.tables.table import Table
from vramfit_plots.units import gb, gigabytes, in_words, mib, number, percent

_ALL = "all"


def _kind(case: Case) -> str:
    """Each case is of one kind, so that their counts add up to all."""
    if not case.training:
        return "inference"
    extras = {"ckpt": "checkpointing", "lora": "LoRA"}
    found = [word for key, word in extras.items() if case.setting.get(key)]
    return f"training with {in_words(found)}" if found else "full training"


def _range(inputs: Inputs) -> str:
    low, high = article_range(inputs)
    return f"The article says {number(100 * low)} to {percent(high, 0, signed=False)}"


def _of_pytorch(inputs: Inputs) -> list[Table]:
    by_kind: dict[str, list[float]] = {}
    for case in pytorch_cases(inputs):
        for kind in (_ALL, _kind(case)):
            by_kind.setdefault(kind, []).append(case.beyond_allocated)
    rows = []
    for kind, shares in by_kind.items():
        found = spread(inputs, shares)
        counts = (found.count, found.below, found.within, found.above)
        figures = (found.median, min(shares), max(shares))
        rows.append([kind, *map(number, counts), *(percent(f, signed=False) for f in figures)])
    return [
        Table(
            key="levels_pytorch",
            title="What PyTorch's allocator does not see",
            headings=["cases", "how many", "below", "within", "above", "median", "least", "most"],
            rows=rows,
            caption=Caption(
                "What the card lost beyond the peak allocated, as a share of it: rounding and gaps "
                f"in the allocator, context and libraries. {_range(inputs)}. Each case is "
                f"of one kind. They are those of data/reference over {gigabytes(LEAST, 0)}; of "
                "smaller ones the context alone is more than 10 %."
            ),
        )
    ]


def _of_vramfit(inputs: Inputs) -> list[Table]:
    try:
        every = measured_levels(inputs)
    except AbsentError:
        return []
    within = spread(inputs, [levels.share for levels in every]).within
    return [
        Table(
            key="levels",
            title="What vramfit's allocator does not see",
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
                "^(Training|Inference|KvCache)/",
                f"{_range(inputs)}; {within} of {len(every)} rows are within.",
            ),
            long=True,
        )
    ]


def build(inputs: Inputs) -> list[Table]:
    return [*_of_pytorch(inputs), *_of_vramfit(inputs)]
