"""Claims about several GPUs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vramfit_plots.claims.answer import Answer
from vramfit_plots.contradictions.common import differ
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.scaling import TIMED, Scaling, every_spread, scaling
from vramfit_plots.several_gpus import Spread, spread
from vramfit_plots.sources import MEASURED, PREDICTED, TORCH_MEASURED, Source
from vramfit_plots.units import gb, in_words, number, percent, times

_GOOD = 0.85  # of N times one GPU's throughput
_STEPPED, _PEAK = "step1_optimizer_after", "allocated"


def _asked(claim: Mapping[str, Any]) -> Spread:
    found = spread(claim["near"]["row"])
    assert found is not None, claim["id"]
    return found


def _on_one(inputs: Inputs, one: Spread, source: Source, counter: str) -> float | None:
    rows = (one.alone.row, one.training)
    found = (inputs.value(row, source.prefix + counter) for row in rows)
    return next((value for value in found if value is not None), None)


def _held(inputs: Inputs, one: Spread, source: Source, counter: str) -> tuple[float, float] | None:
    """On each of several GPUs, and on one."""
    each = inputs.value(one.row, source.prefix + counter)
    alone = _on_one(inputs, one, source, counter)
    return None if each is None or alone is None else (each, alone)


def data_parallel_saves_nothing(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    one, figures, dearer, saved = _asked(claim), {}, [], []
    for source in (PREDICTED, MEASURED, TORCH_MEASURED):
        held = _held(inputs, one, source, _STEPPED)
        if held is None:
            continue
        each, alone = held
        figures[source] = f"{gb(each)} on each of {one.gpus}\n{gb(alone)} on one"
        if differ(each, alone):
            (saved if each < alone else dearer).append(source)
    if not figures:
        raise AbsentError(one.row)
    if saved:
        return Answer(figures, "Does not hold.")
    more = [
        f"{source.side} takes {gb(held[0] - held[1])} GB more of each, a copy of all gradients in "
        "buckets"
        for source in dearer
        if (held := _held(inputs, one, source, _STEPPED))
    ]
    return Answer(figures, "Holds." + (f" {in_words(more)}." if more else ""))


def _scalings(inputs: Inputs, asked: Spread) -> list[Scaling]:
    """Of this model, strategy and optimizer, whatever the batch and the GPUs."""
    whose = (asked.model, asked.strategy, asked.optimizer)
    every = [o for o in every_spread(inputs) if (o.model, o.strategy, o.optimizer) == whose]
    found = (scaling(inputs, one, source) for one in every for source in TIMED)
    timed = [one for one in found if one is not None and one.efficiency is not None]
    if not timed:
        raise AbsentError(f"{asked.row}: tokens_per_second beside one GPU's")
    return timed


def _case(one: Scaling) -> str:
    size = times(one.spread.batch, one.spread.seq)
    micro = one.spread.micro_batches
    return f"{one.spread.gpus} GPUs, {size}" + (f", m = {micro}" if micro > 1 else "")


def _ratios(timed: list[Scaling]) -> dict[Source, str]:
    figures: dict[Source, str] = {}
    for one in timed:
        said = f"{number(one.ratio or 0, 2)} times on {_case(one)}"
        figures[one.source] = "\n".join(filter(None, [figures.get(one.source), said]))
    return figures


def throughput(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    """Of N GPUs over that of one."""
    timed = _scalings(inputs, _asked(claim))
    verdicts = []
    for side in dict.fromkeys(one.source.side for one in timed):
        shares = [one.efficiency or 0 for one in timed if one.source.side == side]
        word = "holds" if min(shares) >= _GOOD else "in part"
        ends = dict.fromkeys(percent(end, 0, signed=False) for end in (min(shares), max(shares)))
        verdicts.append(f"{side}: {word}, {' to '.join(ends)}")
    asked = percent(_GOOD, 0, signed=False)
    said = f"Of N times one GPU's throughput, {asked} counting as good. {'; '.join(verdicts)}."
    return Answer(_ratios(timed), said)


def _whole(inputs: Inputs, asked: Spread, source: Source) -> float | None:
    """What is held where nothing is shared, by however many."""
    every = (replace(asked, strategy="ddp", gpus=gpus, more=()) for gpus in (1, asked.gpus))
    found = (inputs.value(one.row, source.prefix + _STEPPED) for one in every)
    return next((value for value in found if value is not None), None)


def capacity(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    """How much less each of N GPUs holds than one would."""
    asked, figures, shares = _asked(claim), {}, []
    for source in (PREDICTED, MEASURED):
        whole = _whole(inputs, asked, source)
        held, peak = (inputs.value(asked.row, source.prefix + c) for c in (_STEPPED, _PEAK))
        if whole is None or held is None or peak is None:
            continue
        figures[source] = f"{gb(held)} of {gb(whole)} on each of {asked.gpus}\npeak {gb(peak)}"
        shares.append((whole / held, (peak - held) / peak))
    if not figures:
        raise AbsentError(asked.row)
    ratio, beside = shares[-1]
    word = "Holds" if ratio >= _GOOD * asked.gpus else "In part"
    return Answer(
        figures,
        f"{word}: {number(ratio, 2)} times after the optimizer's step. Activations and what is "
        f"gathered, {percent(beside, 0, signed=False)} of the peak, are not shared.",
    )


def pipeline_throughput(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    timed = _scalings(inputs, _asked(claim))
    below = all((one.efficiency or 0) < 1 for one in timed)
    bubbles = [
        f"{_case(one)}: {percent(measured, 0, signed=False)} of the step, by "
        f"(p\N{MINUS SIGN}1)/(m+p\N{MINUS SIGN}1) {percent(predicted, 0, signed=False)}"
        for one in timed
        for measured, predicted in [
            (inputs.value(one.spread.row, "bubble"), inputs.value(one.spread.row, "pred_bubble"))
        ]
        if measured is not None and predicted is not None
    ]
    said = f" The bubble on {'; '.join(bubbles)}." if bubbles else ""
    return Answer(_ratios(timed), f"{'Holds' if below else 'Does not hold'}.{said}")


def fsdp_no_bubble(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    fsdp = _asked(claim)
    row, figures, costs = fsdp.row.replace("/fsdp/", "/ddp/"), {}, []
    for source in TIMED:
        found, ddp = scaling(inputs, fsdp, source), spread(row)
        beside = scaling(inputs, ddp, source) if ddp else None
        if found is None or beside is None:
            continue
        speeds = (found.tokens_per_second, beside.tokens_per_second)
        figures[source] = f"{number(speeds[0])} tokens/s\nDDP {number(speeds[1])}"
        if speeds[0] < speeds[1]:
            cost = percent(1 - speeds[0] / speeds[1], 0, signed=False)
            costs.append(f"{cost} of DDP's throughput in {source.side}")
    if not figures:
        raise AbsentError(fsdp.row)
    said = "Holds by design: no GPU waits for another's stage."
    costly = f" Gathering parameters costs time instead, here {in_words(costs)}." if costs else ""
    return Answer(figures, said + costly)
