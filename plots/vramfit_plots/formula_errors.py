"""How far the article's total for a training run is off what runs take."""

import pandas as pd

from vramfit_plots.accuracy.comparison import Accuracy
from vramfit_plots.inputs import Inputs
from vramfit_plots.rows import family, strategy_of
from vramfit_plots.units import percent


def errors_in_pytorch(accuracy: Accuracy) -> pd.Series:
    """Of what PyTorch was measured to allocate, for every training case the formula speaks of."""
    return pd.Series(
        [
            abs(prediction.article / case.peak["peak"] - 1)
            for case, prediction in zip(accuracy.cases, accuracy.predictions, strict=True)
            if case.training and prediction.article
        ],
        dtype=float,
    )


def _plain(inputs: Inputs, row: str) -> bool:
    """Without what the article's calculator has no argument for."""
    strategy = strategy_of(inputs.run.parse(row))
    return strategy == strategy.stored and not strategy.adapts


def errors_in_run(inputs: Inputs) -> pd.Series:
    """Of what vramfit is predicted to allocate, for every training row the formula speaks of."""
    totals = {
        name: inputs.value(name, "article_formula")
        for name in inputs.run.rows.index
        if family(name) == "Training" and not inputs.value(name, "oom") and _plain(inputs, name)
    }
    return pd.Series(
        {
            name: abs(total / inputs.divisor(name, "pred_allocated") - 1)
            for name, total in totals.items()
            if total is not None
        },
        dtype=float,
    )


def off(errors: pd.Series) -> str:
    """As in: a median of 52 % (worst 122 %) over 33."""
    median, worst = (percent(x, 0, signed=False) for x in (errors.median(), errors.max()))
    return f"a median of {median} (worst {worst}) over {len(errors)}"
