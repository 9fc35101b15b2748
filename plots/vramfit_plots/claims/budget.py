"""Claims about training with less: LoRA, checkpointing, accumulation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vramfit_plots.checkpointing import plain_row
from vramfit_plots.claims.answer import Answer, best_of_each, counted, each, judge, judged, of_both
from vramfit_plots.claims.training import kept, true_parameters
from vramfit_plots.contradictions.common import differ
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.lora import adapters
from vramfit_plots.sources import PREDICTED, Source
from vramfit_plots.speeds import speeds
from vramfit_plots.units import GB, gb, gigabytes, in_words, number, percent, times

_NEAR_TIME = 0.1  # of a step's time: "about"


def _fewer(inputs: Inputs, row: str) -> dict[Source, float]:
    """How many times fewer parameters are trained than the model has. Of vramfit the row counts
    them; PyTorch's are those that were measured."""
    trained = counted(inputs, row, "trainable")
    if own := inputs.value(row, "params_trained"):
        trained[PREDICTED] = own
    return each(trained, lambda n: true_parameters(inputs) / n)


def lora_parameters(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    """Of the usual targets; the verdict says what more of them come to."""
    row, near = claim["row"], claim["near"]

    def holds(ratio: float) -> bool:
        return claim["low"] <= ratio <= claim["high"]

    wider = _fewer(inputs, near["row"])
    said = in_words(dict.fromkeys(number(ratio) for ratio in wider.values()))
    beside = f"; {near['as']} {said} times fewer" if wider else ""
    out = "" if all(map(holds, wider.values())) else ", which is out of its range"
    return judged(
        _fewer(inputs, row),
        lambda ratio: f"{number(ratio)} times fewer",
        holds,
        f"{adapters(inputs, row)}{beside}{out}",
    )


def lora_optimizer(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["row"]
    after, before = (
        counted(inputs, row, f"step1_{stage}_after") for stage in ("optimizer", "backward")
    )
    return judged(
        of_both(after, before, lambda a, b: a - b),
        lambda value: gigabytes(value, 2),
        lambda value: value < claim["high"] * GB,
        adapters(inputs, row),
    )


def _size(inputs: Inputs, row: str) -> str:
    name = inputs.run.parse(row)
    return times(name.number("batch"), name.number("seq")).strip()


def checkpointing_memory(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    ratios = of_both(kept(inputs, plain_row(row)), kept(inputs, row), lambda a, b: a / b)
    remark = f"{_size(inputs, row)} tokens, after the forward pass"
    with_it, plain = (best_of_each(counted(inputs, r, "allocated")) for r in (row, plain_row(row)))
    falls = [
        f"{source.side}'s from {gb(plain[source])} to {gigabytes(with_it[source])}"
        for source in with_it
        if source in plain
    ]
    if falls:
        remark += f"; the peak of all steps falls less, {' and '.join(falls)}"
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
    fast, slow = (speeds(inputs, name) for name in (plain_row(row), row))
    return judged(
        of_both(fast, slow, lambda a, b: a / b - 1),
        lambda more: f"{percent(more, 0, signed=False)} more",
        lambda more: abs(more - claim["value"] / 100) <= _NEAR_TIME,
        f"within {percent(_NEAR_TIME, 0, signed=False)} of a step, {_size(inputs, row)} tokens",
    )


@dataclass(frozen=True)
class _Accumulated:
    """A row of several micro-batches, one of them alone, and all their sequences at once."""

    row: str
    micro: str
    whole: str
    batch: int
    steps: int


def _accumulated(inputs: Inputs, claim: Mapping[str, Any]) -> _Accumulated:
    row = claim["near"]["row"]
    name = inputs.run.parse(row)
    batch, steps = name.number("batch"), name.number("accumulate")
    micro = row.removesuffix(f"/accumulate:{steps}")
    whole = micro.replace(f"batch:{batch}", f"batch:{batch * steps}")
    return _Accumulated(row, micro, whole, batch, steps)


def accumulation(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    of = _accumulated(inputs, claim)
    batch, steps = of.batch, of.steps
    accumulated, micro, whole = (
        counted(inputs, one, "allocated") for one in (of.row, of.micro, of.whole)
    )
    more = of_both(accumulated, micro, lambda a, b: a - b)
    if not more:
        raise AbsentError(of.row)
    texts = {}
    for source in more:
        texts[source] = f"{gb(accumulated[source])} at {times(steps, batch)}\n{gb(micro[source])} "
        texts[source] += f"at {times(1, batch)}"
        if source in whole:
            texts[source] += f"\n{gb(whole[source])} at {times(1, batch * steps)}"
    if not any(differ(accumulated[source], micro[source]) for source in more):
        return Answer(texts, "Holds.")
    least, most = min(more.values()), max(more.values())
    range_ = gigabytes(most) if gb(least) == gb(most) else f"{gb(least)} to {gigabytes(most)}"
    verdict = (
        f"Nearly: the gradients stay while the next micro-batch runs, so that steps of {steps} "
        f"micro-batches take {range_} more than one alone"
    )
    if any(whole.get(source, 0) > accumulated[source] for source in more):
        verdict += "; the whole batch at once takes more still"
    return Answer(texts, verdict + ".")


def accumulation_time(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    """Against one micro-batch; the same sequences at once are the fairer comparison."""
    of = _accumulated(inputs, claim)
    accumulated, micro, whole = (speeds(inputs, row) for row in (of.row, of.micro, of.whole))
    longer = of_both(micro, accumulated, lambda one, all_: of.steps * one / all_)
    beside = of_both(whole, accumulated, lambda once, in_turn: 1 - in_turn / once)
    if not longer and not beside:
        raise AbsentError(f"{of.row}: tokens_per_second")
    texts: dict[Source, list[str]] = {}
    for source, ratio in longer.items():
        texts.setdefault(source, []).append(f"{number(ratio, 1)} times one of {of.batch}")
    for source, more in beside.items():
        said = f"{percent(-more, 0)} for {of.batch * of.steps} at once"
        texts.setdefault(source, []).append(said)
    figures = {source: "\n".join(lines) for source, lines in texts.items()}
    most = percent(max(beside.values()), 0, signed=False) if beside else ""
    remark = f"; the same sequences at once save at most {most} of it" if beside else ""
    if not longer:
        return Answer(figures, f"Nobody timed one micro-batch alone{remark}.")
    word = judge(longer, lambda ratio: not differ(ratio, claim["value"], _NEAR_TIME))
    return Answer(figures, f"{word} within {percent(_NEAR_TIME, 0, signed=False)}{remark}.")
