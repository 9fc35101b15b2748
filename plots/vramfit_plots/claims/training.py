"""Claims about a training step: states and activations."""

from collections.abc import Mapping, Sequence
from typing import Any

from vramfit_plots.claims.answer import Answer, Figures, counted, judge, judged, of_both
from vramfit_plots.contradictions.common import differ, seven_b
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import MEASURED, PREDICTED, Source
from vramfit_plots.units import GB, gigabytes, number, percent, with_unit

_NEAR_LINE = 0.05  # of what a token takes
_BATCHES, _LENGTHS = (1, 2, 4, 8, 16), (512, 2048)


def true_parameters(inputs: Inputs) -> int:
    return inputs.models[inputs.article.waterfall["model"]].parameters


def _states(inputs: Inputs, claim: Mapping[str, Any], figures: Figures, remark: str = "") -> Answer:
    """Judged by bytes a parameter, as the article has more of them."""
    printed = claim["value"] * GB / seven_b(inputs)
    true = true_parameters(inputs)
    words = f"{number(printed)} B/param in the article" + (f"; {remark}" if remark else "")
    return judged(figures, gigabytes, lambda value: not differ(value / true, printed), words)


def master_weights(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    """vramfit's alone: PyTorch's states are of another width with and without autocast."""
    row = claim["row"]
    with_master = counted(inputs, row, "optimizer_state")
    without = counted(inputs, row.replace("adamw-master", "adamw"), "optimizer_state")
    ours = [s for s in (PREDICTED, MEASURED) if s in with_master and s in without]
    figures = {source: with_master[source] - without[source] for source in ours}
    return _states(inputs, claim, figures, "in PyTorch under autocast there is no second copy")


def states_with_master_weights(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    return _states(
        inputs,
        claim,
        counted(inputs, claim["row"], "optimizer_state"),
        "in PyTorch under autocast the FP32 weights are the parameters, and no state",
    )


def kept(inputs: Inputs, row: str) -> Figures:
    """What a forward pass leaves, the model apart."""
    after, loaded = (
        counted(inputs, row, f"step1_{stage}_after") for stage in ("forward", "loaded")
    )
    return of_both(after, loaded, lambda a, b: a - b)


def _range(figures: Sequence[str]) -> str:
    """From the first to the last, which may read the same."""
    return " to ".join(dict.fromkeys((figures[0], figures[-1])))


def activations_linear(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    by_source: dict[Source, list[float]] = {}
    for row in (claim["row"], claim["near"]["row"]):
        name = inputs.run.parse(row)
        start = f"Training/{'/'.join(name.text(a) for a in ('model', 'precision', 'optimizer'))}"
        for batch in _BATCHES:
            for length in _LENGTHS:
                found = kept(inputs, f"{start}/batch:{batch}/seq:{length}")
                for source, value in found.items():
                    if value <= 0:
                        continue
                    by_source.setdefault(source, []).append(value / (batch * length))
    if not by_source:
        raise AbsentError(claim["row"])
    figures = {source: max(found) / min(found) - 1 for source, found in by_source.items()}
    texts = {
        source: with_unit(_range([number(value / 1e3) for value in sorted(found)]), "kB")
        + "\na token"
        for source, found in by_source.items()
    }
    word = judge(figures, lambda spread: spread <= _NEAR_LINE)
    return Answer(
        texts,
        f"{word} within {percent(_NEAR_LINE, 0, signed=False)}, with fused attention: batches "
        f"{_BATCHES[0]} to {_BATCHES[-1]} of "
        f"{' and '.join(map(str, _LENGTHS))} tokens. Attention that keeps its probabilities grows "
        "with the square of the length.",
    )
