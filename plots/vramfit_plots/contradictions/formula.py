"""The article's formula against many runs."""

import pandas as pd

from vramfit_plots.accuracy.comparison import Accuracy
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import family
from vramfit_plots.units import percent


def _errors_in_pytorch(accuracy: Accuracy) -> pd.Series:
    """Of the training cases that data/reference began with."""
    return pd.Series(
        [
            abs(prediction.article / case.peak["peak"] - 1)
            for case, prediction in zip(accuracy.cases, accuracy.predictions, strict=True)
            if case.training and case.source == "pytorch_single_gpu" and prediction.article
        ]
    )


def _off(errors: pd.Series, what: str) -> str:
    median, worst = errors.median(), errors.max()
    return (
        f"{percent(median, 0, signed=False)} over {len(errors)} {what} (worst "
        f"{percent(worst, 0, signed=False)})"
    )


def formula_against_runs(inputs: Inputs) -> str | None:
    tolerance = inputs.article.claim("rules_of_thumb")["value"] / 100
    totals = {
        name: inputs.value(name, "article_formula")
        for name in inputs.run.rows.index
        if family(name) == "Training" and not inputs.value(name, "oom")
    }
    ours = pd.Series(
        {
            name: abs(total / inputs.divisor(name, "pred_allocated") - 1)
            for name, total in totals.items()
            if total is not None
        }
    )
    if ours.empty:
        raise AbsentError("Training rows")
    if inputs.accuracy is None:
        raise AbsentError("the article's totals for PyTorch's cases: --fit names the program")
    torch = _errors_in_pytorch(inputs.accuracy)
    if torch.empty:
        raise AbsentError("PyTorch's training cases")
    if max(ours.median(), torch.median()) <= tolerance:
        return None
    return (
        f"Its rules are said to hold within {percent(tolerance, 0, signed=False)}. will_it_fit's "
        f"training total is off by a median of {_off(ours, 'predicted rows of this run')} and "
        f"{_off(torch, 'cases measured in PyTorch')}."
    )
