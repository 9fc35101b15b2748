"""What several items share."""

from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import RowName
from vramfit_plots.several_gpus import Spread, spread
from vramfit_plots.sources import MEASURED, PREDICTED, TORCH_MEASURED, Source

_SAME = 0.01  # figures closer than this, relative to the larger, agree


def differ(a: float, b: float, tolerance: float = _SAME) -> bool:
    return abs(a - b) > tolerance * max(abs(a), abs(b))


def seven_b(inputs: Inputs) -> float:
    """How many parameters the article's 7B has."""
    return inputs.article.assumed_parameters()[inputs.article.inference["model"]]


def table_2_row(inputs: Inputs) -> str:
    return inputs.article.waterfall["rows"][0]["row"]


def table_2_case(inputs: Inputs) -> RowName:
    return inputs.run.parse(table_2_row(inputs))


def pytorch(inputs: Inputs, optimizer: str, counter: str) -> float:
    """Measured in PyTorch at Table 2's batch and length, in bf16, with the optimizer that joins
    ours of this name."""
    row = table_2_row(inputs).replace("/fp16/adamw/", f"/bf16/{optimizer}/")
    return inputs.need(row, TORCH_MEASURED.prefix + counter)


def ours(inputs: Inputs, row: str, *counters: str) -> Source:
    """Whose figures are said of vramfit: those measured, where the row was and has them all."""
    has_all = all(inputs.value(row, MEASURED.prefix + counter) is not None for counter in counters)
    return MEASURED if has_all else PREDICTED


def how(source: Source) -> str:
    """ "measured" or "predicted"."""
    return source.heading.removeprefix(f"{source.side} ")


def sharded(inputs: Inputs, strategy: str, gpus: int) -> Spread:
    """What several GPUs were measured to take of each."""
    for row in inputs.reference.rows.index:
        found = spread(row)
        if found and (found.strategy, found.gpus) == (strategy, gpus) and not found.more:
            return found
    raise AbsentError(f"PyTorch's {strategy} on {gpus} GPUs")
