"""The article's formula against many runs."""

import pandas as pd

from vramfit_plots.article_formulas import Question, its_optimizer, will_it_fit
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import family
from vramfit_plots.sources import TORCH_MEASURED
from vramfit_plots.units import percent


def _formula_for_reference(case: pd.Series) -> float:
    question = Question(
        case["params"],
        precision=case["dtype"],
        optimizer=its_optimizer(case["opt"]),
        batch=case["b"],
        seq=case["s"],
        hidden=case["hidden"],
        layers=case["layers"],
    )
    return will_it_fit(question).total


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
            name: abs(total / inputs.need(name, "pred_allocated") - 1)
            for name, total in totals.items()
            if total is not None
        }
    )
    if ours.empty:
        raise AbsentError("Training rows")
    cases = inputs.reference.training
    cases = cases[cases[["amp", "ckpt"]].isna().all(axis=1)]  # which it has no argument for
    torch = (
        cases.apply(_formula_for_reference, axis=1) / cases[f"{TORCH_MEASURED.prefix}allocated"] - 1
    ).abs()
    if max(ours.median(), torch.median()) <= tolerance:
        return None
    return (
        f"Its rules are said to hold within {percent(tolerance, 0, signed=False)}. will_it_fit's "
        f"training total is off by a median of {_off(ours, 'predicted rows of this run')} and "
        f"{_off(torch, 'cases measured in PyTorch')}."
    )
