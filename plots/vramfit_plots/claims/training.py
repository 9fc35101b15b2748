"""Claims about a training step: states, activations, LoRA, checkpointing, accumulation."""

from collections.abc import Mapping, Sequence
from typing import Any

from vramfit_plots.claims.answer import Answer, Figures, counted, each, judge, judged, of_both
from vramfit_plots.contradictions.common import differ, seven_b
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import MEASURED, PREDICTED, TORCH_MEASURED, Source
from vramfit_plots.units import GB, gb, gigabytes, number, percent, times, with_unit

_NEAR_LINE = 0.05  # of what a token takes
_NEAR_TIME = 0.1  # of a step's time: "about"
_BATCHES, _LENGTHS = (1, 2, 4, 8, 16), (512, 2048)


def _true(inputs: Inputs) -> int:
    return inputs.models[inputs.article.waterfall["model"]].parameters


def _states(inputs: Inputs, claim: Mapping[str, Any], figures: Figures, remark: str = "") -> Answer:
    """Judged by bytes a parameter, as the article has more of them."""
    printed = claim["value"] * GB / seven_b(inputs)
    true = _true(inputs)
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


def _kept(inputs: Inputs, row: str) -> Figures:
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
                kept = _kept(inputs, f"{start}/batch:{batch}/seq:{length}")
                for source, value in kept.items():
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


def lora_parameters(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    figures = each(counted(inputs, row, "trainable"), lambda n: _true(inputs) / n)
    return judged(
        figures,
        lambda ratio: f"{number(ratio)} times fewer",
        lambda ratio: claim["low"] <= ratio <= claim["high"],
        claim["near"]["as"],
    )


def lora_optimizer(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    after, before = (
        counted(inputs, row, f"step1_{stage}_after") for stage in ("optimizer", "backward")
    )
    return judged(
        of_both(after, before, lambda a, b: a - b),
        lambda value: gigabytes(value, 2),
        lambda value: value < claim["high"] * GB,
        claim["near"]["as"],
    )


def _plain(row: str) -> str:
    """The same without checkpointing."""
    return row.removesuffix("/checkpoint:full")


def _size(inputs: Inputs, row: str) -> str:
    name = inputs.run.parse(row)
    return times(name.number("batch"), name.number("seq"))


def checkpointing_memory(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    ratios = of_both(_kept(inputs, _plain(row)), _kept(inputs, row), lambda a, b: a / b)
    peak, plain = (
        counted(inputs, name, "allocated").get(TORCH_MEASURED) for name in (row, _plain(row))
    )
    remark = f"{_size(inputs, row)} tokens, after the forward pass"
    if peak and plain:
        remark += f"; PyTorch's peak falls from {gb(plain)} to {gigabytes(peak)}"
    if ratios and min(ratios.values()) > claim["high"]:
        remark = f"it saves more; {remark}"
    return judged(
        ratios,
        lambda ratio: f"{number(ratio, 1)} times less",
        lambda ratio: claim["low"] <= ratio <= claim["high"],
        remark,
    )


def checkpointing_time(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    fast, slow = (counted(inputs, name, "tokens_per_second") for name in (_plain(row), row))
    return judged(
        of_both(fast, slow, lambda a, b: a / b - 1),
        lambda more: f"{percent(more, 0, signed=False)} more",
        lambda more: abs(more - claim["value"] / 100) <= _NEAR_TIME,
        f"within {percent(_NEAR_TIME, 0, signed=False)} of a step, {_size(inputs, row)} tokens",
    )


def accumulation(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    name = inputs.run.parse(row)
    batch, steps = name.number("batch"), name.number("accumulate")
    micro_row = row.removesuffix(f"/accumulate:{steps}")
    whole_row = micro_row.replace(f"batch:{batch}", f"batch:{batch * steps}")
    accumulated, micro, whole = (
        counted(inputs, one, "allocated") for one in (row, micro_row, whole_row)
    )
    more = of_both(accumulated, micro, lambda a, b: a - b)
    if not more:
        raise AbsentError(row)
    texts = {}
    for source in more:
        texts[source] = f"{gb(accumulated[source])} at {times(steps, batch)}\n{gb(micro[source])} "
        texts[source] += f"at {times(1, batch)}"
        if source in whole:
            texts[source] += f"\n{gb(whole[source])} at {times(1, batch * steps)}"
    most = max(more.values())
    if not any(differ(accumulated[source], micro[source]) for source in more):
        return Answer(texts, "Holds.")
    verdict = (
        f"Nearly: the gradients stay while the next micro-batch runs, which is {gigabytes(most)} "
        f"more than one alone, in steps of {steps} micro-batches"
    )
    if any(whole.get(source, 0) > accumulated[source] for source in more):
        verdict += "; the whole batch at once takes more still"
    return Answer(texts, verdict + ".")
