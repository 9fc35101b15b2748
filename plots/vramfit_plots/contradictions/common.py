"""What several items share."""

from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import RowName
from vramfit_plots.sources import TORCH_MEASURED

_TOLD_APART_BY = ("model", "dtype", "opt", "b", "s", "attn", "amp", "ckpt")  # cases
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
    """Measured in PyTorch at Table 2's batch and length, in bf16."""
    row, counter = table_2_case(inputs), TORCH_MEASURED.prefix + counter
    # No case may have one of these at all.
    cases = inputs.reference.training.reindex(columns=[*_TOLD_APART_BY, counter])
    plain = cases[["attn", "amp", "ckpt"]].isna().all(axis=1)
    match = cases[
        plain
        & (cases["model"] == inputs.article.waterfall["model"])
        & (cases["dtype"] == "bf16")
        & (cases["opt"] == optimizer)
        & (cases["b"] == row.number("batch"))
        & (cases["s"] == row.number("seq"))
    ]
    measured = match[counter].dropna()
    if measured.empty:
        raise AbsentError(f"PyTorch's {optimizer} at {row}")
    return float(measured.iloc[0])
