"""The article's formula against many runs."""

from vramfit_plots.errors import AbsentError
from vramfit_plots.formula_errors import errors_in_pytorch, errors_in_run, off
from vramfit_plots.inputs import Inputs
from vramfit_plots.units import percent


def formula_against_runs(inputs: Inputs) -> str | None:
    tolerance = inputs.article.claim("rules_of_thumb")["value"] / 100
    ours = errors_in_run(inputs)
    if ours.empty:
        raise AbsentError("Training rows")
    if inputs.accuracy is None:
        raise AbsentError("the article's totals for PyTorch's cases: --fit names the program")
    torch = errors_in_pytorch(inputs.accuracy)
    if torch.empty:
        raise AbsentError("PyTorch's training cases")
    if max(ours.median(), torch.median()) <= tolerance:
        return None
    return (
        f"The article says that its rules hold within {percent(tolerance, 0, signed=False)}. "
        f"will_it_fit's training total is off by {off(ours)} predicted rows of this run, and by "
        f"{off(torch)} cases measured in PyTorch."
    )
