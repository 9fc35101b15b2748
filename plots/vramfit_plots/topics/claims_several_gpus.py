"""What the claims about several GPUs are answered by."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from vramfit_plots.cells import differ
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.rows import Spread, spread
from vramfit_plots.sources import MEASURED, PREDICTED, TIMED, TORCH_MEASURED, Source
from vramfit_plots.topics.claims_asked import Answer, Asked, in_lines
from vramfit_plots.topics.scaling import Scaling, every_spread, scaling
from vramfit_plots.units import MINUS, gb, in_words, number, share, times

_GOOD = 0.85  # of N times one GPU's throughput
_STEPPED = "step1_optimizer_after"


def _spread(asked: Asked) -> Spread:
    found = spread(asked.near)
    assert found is not None, asked.near
    return found


def _first(inputs: Inputs, rows: Iterable[str], source: Source) -> float | None:
    """What is held after the optimizer's step, of the first row that the source has."""
    found = (inputs.of(row, source, _STEPPED) for row in rows)
    return next((value for value in found if value is not None), None)


def data_parallel_saves_nothing(asked: Asked) -> Answer:
    one, figures, more, saved = _spread(asked), {}, [], False
    for source in (PREDICTED, MEASURED, TORCH_MEASURED):
        each = _first(asked.inputs, [one.row], source)
        alone = _first(asked.inputs, [one.alone.row, one.training], source)
        if each is None or alone is None:
            continue
        figures[source] = f"{gb(each)} on each of {one.gpus}\n{gb(alone)} on one"
        if differ(each, alone):
            saved |= each < alone
            buckets = f"{gb(each - alone)} GB more of each, a copy of all gradients in buckets"
            more.append(f"{source.side} takes {buckets}")
    if not figures:
        raise AbsentError(one.row)
    if saved:
        return Answer(figures, "Does not hold.")
    return Answer(figures, "Holds." + (f" {in_words(more)}." if more else ""))


def _scalings(asked: Asked) -> list[Scaling]:
    """Of this model, strategy and optimizer, whatever the batch and the GPUs."""
    inputs, one = asked.inputs, _spread(asked)
    whose = (one.model, one.strategy, one.optimizer)
    every = [o for o in every_spread(inputs) if (o.model, o.strategy, o.optimizer) == whose]
    found = (scaling(inputs, one, source) for one in every for source in TIMED)
    timed = [one for one in found if one is not None and one.efficiency is not None]
    if not timed:
        raise AbsentError(f"{one.row}: tokens_per_second beside one GPU's")
    return timed


def _case(one: Scaling) -> str:
    size = times(one.spread.batch, one.spread.seq)
    micro = one.spread.micro_batches
    return f"{one.spread.gpus} GPUs, {size}" + (f", m = {micro}" if micro > 1 else "")


def _ratios(timed: list[Scaling]) -> dict[Source, str]:
    lines: dict[Source, list[str]] = {}
    for one in timed:
        lines.setdefault(one.source, []).append(f"{number(one.ratio, 2)} times on {_case(one)}")
    return in_lines(lines)


def throughput(asked: Asked) -> Answer:
    """Of N GPUs over that of one."""
    timed, verdicts = _scalings(asked), []
    for side in dict.fromkeys(one.side for one in timed):
        shares = [one.efficiency for one in timed if one.side == side]
        word = "holds" if min(shares) >= _GOOD else "in part"
        ends = dict.fromkeys(share(end, 0) for end in (min(shares), max(shares)))
        verdicts.append(f"{side}: {word}, {' to '.join(ends)}")
    good = f"Of N times one GPU's throughput, {share(_GOOD, 0)} counting as good."
    return Answer(_ratios(timed), f"{good} {'; '.join(verdicts)}.")


def capacity(asked: Asked) -> Answer:
    """How much less each of N GPUs holds than one would."""
    inputs, one, figures, ratio, beside = asked.inputs, _spread(asked), {}, 0.0, 0.0
    whole_rows = [replace(one, strategy="ddp", gpus=gpus, more=()).row for gpus in (1, one.gpus)]
    for source in (PREDICTED, MEASURED):  # the latter counts, where it is there
        whole = _first(inputs, whole_rows, source)
        found = inputs.all_of(one.row, source, _STEPPED, "allocated")
        if whole is None or found is None:
            continue
        held, peak = found
        figures[source] = f"{gb(held)} of {gb(whole)} on each of {one.gpus}\npeak {gb(peak)}"
        ratio, beside = whole / held, (peak - held) / peak
    if not figures:
        raise AbsentError(one.row)
    word = "Holds" if ratio >= _GOOD * one.gpus else "In part"
    return Answer(
        figures,
        f"{word}: {number(ratio, 2)} times after the optimizer's step. Activations and what is "
        f"gathered, {share(beside, 0)} of the peak, are not shared.",
    )


def pipeline_throughput(asked: Asked) -> Answer:
    timed = _scalings(asked)
    word = "Holds" if all(one.efficiency < 1 for one in timed) else "Does not hold"
    bubbles = [
        f"{_case(one)}: {share(one.bubble, 0)} of the step, by (p{MINUS}1)/(m+p{MINUS}1) "
        f"{share(one.predicted_bubble, 0)}"
        for one in timed
        if one.bubble is not None and one.predicted_bubble is not None
    ]
    said = f" The bubble on {'; '.join(bubbles)}." if bubbles else ""
    return Answer(_ratios(timed), f"{word}.{said}")


def fsdp_no_bubble(asked: Asked) -> Answer:
    fsdp, figures, costs = _spread(asked), {}, []
    for source in TIMED:
        found, beside = (
            scaling(asked.inputs, one, source) for one in (fsdp, replace(fsdp, strategy="ddp"))
        )
        if found is None or beside is None:
            continue
        own, ddp = found.tokens_per_second, beside.tokens_per_second
        figures[source] = f"{number(own)} tokens/s\nDDP {number(ddp)}"
        if own < ddp:
            costs.append(f"{share(1 - own / ddp, 0)} of DDP's throughput in {source.side}")
    if not figures:
        raise AbsentError(fsdp.row)
    costly = f" Gathering parameters costs time instead, here {in_words(costs)}." if costs else ""
    return Answer(figures, f"Holds by design: no GPU waits for another's stage.{costly}")


ANSWERS: dict[str, Callable[[Asked], Answer]] = {
    function.__name__: function
    for function in (
        data_parallel_saves_nothing,
        throughput,
        capacity,
        pipeline_throughput,
        fsdp_no_bubble,
    )
}
