"""What the claims about one GPU are answered by."""

from collections.abc import Callable, Sequence

import pandas as pd

from vramfit_plots.cells import differ
from vramfit_plots.files import AbsentError
from vramfit_plots.formula_errors import errors_in_pytorch, errors_in_run, off
from vramfit_plots.sources import MEASURED, OURS, PREDICTED, TORCH_MEASURED, Source
from vramfit_plots.topics.checkpointing import plain_row
from vramfit_plots.topics.claims_asked import (
    Answer,
    Asked,
    Figures,
    best_of_each,
    each,
    in_lines,
    judge,
    of_both,
)
from vramfit_plots.topics.levels import our_shares, pytorch_shares
from vramfit_plots.units import gb, gigabytes, in_words, number, percent, share, times, with_unit

_NEAR_TIME = 0.1  # of a step's time: "about"
_NEAR_LINE = 0.05  # of what a token takes
_BATCHES, _LENGTHS = (1, 2, 4, 8, 16), (512, 2048)
_SAME = 0.1  # of what the cache and a prompt's temporaries add
_WEIGHTS = ("fp32", "fp16", "bf16", "int8", "nf4")
_RUNS = {PREDICTED: "rows predicted for vramfit", TORCH_MEASURED: "cases measured in PyTorch"}


def _taken(asked: Asked, row: str = "") -> dict[Source, float]:
    """Of a card in all, its driver's share included."""
    reserved = asked.opening_card.driver_reserved
    return each(asked.counted("device_used", row), lambda used: used + reserved)


def _taken_near(asked: Asked) -> Figures:
    """PyTorch's of the row nearby, where it was not measured at the claim's."""
    own = TORCH_MEASURED in _taken(asked) or "near" not in asked.claim
    beside = {} if own else _taken(asked, asked.near)
    return {source: beside[source] for source in [TORCH_MEASURED] if source in beside}


def _cache_a_token(asked: Asked) -> Figures:
    tokens = asked.case.number("batch") * asked.case.number("seq")
    return each(asked.counted("kv_cache"), lambda cache: cache / tokens)


def _master_weights(asked: Asked) -> Figures:
    """vramfit's alone: PyTorch's states are of another width with and without autocast."""
    with_master = asked.counted("optimizer_state")
    without = asked.counted("optimizer_state", asked.row.replace("adamw-master", "adamw"))
    found = of_both(with_master, without, lambda a, b: a - b)
    return {source: value for source, value in found.items() if source in OURS}


def _fewer_trained(asked: Asked, row: str = "") -> Figures:
    """How many times fewer parameters are trained than the model has. Of vramfit the row counts
    them; PyTorch's are those that were measured."""
    trained = asked.counted("trainable", row)
    if own := asked.inputs.value(row or asked.row, "params_trained"):
        trained[PREDICTED] = own
    return each(trained, lambda n: asked.parameters / n)


def _adapters_states(asked: Asked) -> Figures:
    after, before = (asked.counted(f"step1_{s}_after") for s in ("optimizer", "backward"))
    return of_both(after, before, lambda a, b: a - b)


def _times_less_kept(asked: Asked) -> Figures:
    return of_both(asked.kept(plain_row(asked.near)), asked.kept(asked.near), lambda a, b: a / b)


def _more_time(asked: Asked) -> Figures:
    fast, slow = (asked.inputs.speeds(row) for row in (plain_row(asked.near), asked.near))
    return of_both(fast, slow, lambda a, b: a / b - 1)


def _formula_errors(asked: Asked) -> dict[Source, pd.Series]:
    found = {PREDICTED: errors_in_run(asked.inputs)}
    if asked.inputs.accuracy is not None:
        found[TORCH_MEASURED] = errors_in_pytorch(asked.inputs.accuracy)
    return {source: errors for source, errors in found.items() if len(errors)}


FIGURES: dict[str, Callable[[Asked], Figures]] = {
    "taken": _taken,
    "taken_or_near": lambda asked: {**_taken(asked), **_taken_near(asked)},
    "cache": lambda asked: asked.counted("kv_cache"),
    "cache_a_token": _cache_a_token,
    "optimizer_state": lambda asked: asked.counted("optimizer_state"),
    "master_weights": _master_weights,
    "largest_batch": lambda asked: asked.counted("max_batch"),
    "fewer_trained": _fewer_trained,
    "adapters_states": _adapters_states,
    "times_less_kept": _times_less_kept,
    "more_time": _more_time,
    "formulas_median": lambda asked: each(_formula_errors(asked), pd.Series.median),
}


def _of_more_adapters(asked: Asked) -> str:
    """What more of them than the usual targets come to."""
    wider = _fewer_trained(asked, asked.near)
    said = in_words(dict.fromkeys(number(ratio) for ratio in wider.values()))
    out = "" if all(map(asked.within, wider.values())) else ", which is out of its range"
    return f"; {asked.claim['near']['as']} {said} times fewer{out}" if wider else ""


def _of_peaks(asked: Asked) -> str:
    rows = (asked.near, plain_row(asked.near))
    with_it, plain = (best_of_each(asked.counted("allocated", row)) for row in rows)
    falls = [
        f"{source.side}'s from {gb(plain[source])} to {gigabytes(with_it[source])}"
        for source in with_it
        if source in plain
    ]
    return f"; the peak of all steps falls less, {' and '.join(falls)}" if falls else ""


def _of_formulas(asked: Asked) -> str:
    errors = _formula_errors(asked)
    return " and ".join(f"{off(errors[source])} {_RUNS[source]}" for source in errors)


# What remarks of claims.json may call.
REMARKS = {
    "taken_near": _taken_near,
    "of_more_adapters": _of_more_adapters,
    "of_peaks": _of_peaks,
    "of_formulas": _of_formulas,
}


def outside_the_allocator(asked: Asked) -> Answer:
    figures, theirs = {}, pytorch_shares(asked.inputs)
    own = of_both(asked.counted("device_used"), asked.counted("allocated"), lambda a, b: a / b - 1)
    if PREDICTED in own:
        figures[PREDICTED] = f"{share(own[PREDICTED])}\nTable 2's case"
    if ours := our_shares(asked.inputs):
        figures[MEASURED] = f"{share(ours.median)}\nmedian of {ours.count} rows"
    figures[TORCH_MEASURED] = f"{share(theirs.median)}\nmedian of {theirs.count} cases"
    holds = "Holds" if theirs.within == theirs.count else "In part"
    return Answer(figures, f"{holds}: {theirs.words}.")


def cache_by_precision(asked: Asked) -> Answer:
    """By what the same prompt adds to weights of each precision."""
    precision = asked.near_case.text("precision")
    added: dict[str, Figures] = {}
    for weights in _WEIGHTS:
        row = asked.near.replace(f"/{precision}/", f"/{weights}/")
        peaks, models = (asked.counted(key, row) for key in ("allocated", "parameters"))
        added[weights] = of_both(peaks, models, lambda peak, model: peak - model)
    lines: dict[Source, list[str]] = {}
    same, other = [], []
    for weights, figures in added.items():
        for source, value in figures.items():
            lines.setdefault(source, []).append(f"{weights.upper()} +{gb(value)} GB")
        ratios = of_both(figures, added[precision], lambda one, base: one / base).values()
        if ratios:
            (other if any(differ(1, ratio, _SAME) for ratio in ratios) else same).append(weights)
    if not same:
        raise AbsentError(asked.near)
    words, exceptions = (in_words(name.upper() for name in names) for names in (same, other))
    but = f" It does not for {exceptions}, whose cache is as wide as its weights." if other else ""
    return Answer(
        in_lines(lines),
        f"Holds for {words} within {share(_SAME, 0)}, judged by what a prompt adds to the model: "
        f"cache and temporaries.{but}",
    )


def activations_linear(asked: Asked) -> Answer:
    by_source: dict[Source, list[float]] = {}
    starts = (row.partition("/batch:")[0] for row in (asked.row, asked.near))
    sizes = [(batch, length) for batch in _BATCHES for length in _LENGTHS]
    for start in starts:
        for batch, length in sizes:
            for source, value in asked.kept(f"{start}/batch:{batch}/seq:{length}").items():
                if value > 0:
                    by_source.setdefault(source, []).append(value / (batch * length))
    if not by_source:
        raise AbsentError(asked.row)
    word = judge(by_source, lambda found: max(found) / min(found) - 1 <= _NEAR_LINE)
    return Answer(
        {source: f"{_range(found)}\na token" for source, found in by_source.items()},
        f"{word} within {share(_NEAR_LINE, 0)}, with fused attention: batches {_BATCHES[0]} to "
        f"{_BATCHES[-1]} of {' and '.join(map(str, _LENGTHS))} tokens. Attention that keeps its "
        "probabilities grows with the square of the length.",
    )


def _range(found: Sequence[float]) -> str:
    """From the least to the most, which may read the same."""
    ends = dict.fromkeys(number(value / 1e3) for value in (min(found), max(found)))
    return with_unit(" to ".join(ends), "kB")


def _accumulated(asked: Asked) -> tuple[int, int, tuple[str, str, str]]:
    """Batch and micro-batches of a row; the row, one of its micro-batches alone, and all their
    sequences at once."""
    row, name = asked.near, asked.near_case
    batch, steps = name.number("batch"), name.number("accumulate")
    micro = row.removesuffix(f"/accumulate:{steps}")
    return batch, steps, (row, micro, micro.replace(f"batch:{batch}", f"batch:{batch * steps}"))


def accumulation(asked: Asked) -> Answer:
    batch, steps, rows = _accumulated(asked)
    accumulated, micro, whole = (asked.counted("allocated", row) for row in rows)
    more = of_both(accumulated, micro, lambda a, b: a - b)
    if not more:
        raise AbsentError(asked.near)
    sizes = ((accumulated, times(steps, batch)), (micro, times(1, batch)))
    sizes += ((whole, times(1, batch * steps)),)
    texts = {
        source: [f"{gb(own[source])} at {size}" for own, size in sizes if source in own]
        for source in more
    }
    if not any(differ(accumulated[source], micro[source]) for source in more):
        return Answer(in_lines(texts), "Holds.")
    least, most = min(more.values()), max(more.values())
    range_ = gigabytes(most) if gb(least) == gb(most) else f"{gb(least)} to {gigabytes(most)}"
    dearer = any(whole.get(source, 0) > accumulated[source] for source in more)
    return Answer(
        in_lines(texts),
        f"Nearly: the gradients stay while the next micro-batch runs, so that steps of {steps} "
        f"micro-batches take {range_} more than one alone"
        f"{'; the whole batch at once takes more still' if dearer else ''}.",
    )


def accumulation_time(asked: Asked) -> Answer:
    """Against one micro-batch; the same sequences at once are the fairer comparison."""
    batch, steps, rows = _accumulated(asked)
    accumulated, micro, whole = (asked.inputs.speeds(row) for row in rows)
    longer = of_both(micro, accumulated, lambda one, all_: steps * one / all_)
    beside = of_both(whole, accumulated, lambda once, in_turn: 1 - in_turn / once)
    if not longer and not beside:
        raise AbsentError(f"{asked.near}: tokens_per_second")
    texts: dict[Source, list[str]] = {}
    for source, ratio in longer.items():
        texts.setdefault(source, []).append(f"{number(ratio, 1)} times one of {batch}")
    for source, more in beside.items():
        said = f"{percent(-more, 0)} for {batch * steps} at once"
        texts.setdefault(source, []).append(said)
    most = share(max(beside.values()), 0) if beside else ""
    remark = f"; the same sequences at once save at most {most} of it" if beside else ""
    if not longer:
        return Answer(in_lines(texts), f"Nobody timed one micro-batch alone{remark}.")
    word = judge(longer, lambda ratio: not differ(ratio, asked.claim["value"], _NEAR_TIME))
    return Answer(in_lines(texts), f"{word} within {share(_NEAR_TIME, 0)}{remark}.")


ANSWERS: dict[str, Callable[[Asked], Answer]] = {
    function.__name__: function
    for function in (
        outside_the_allocator,
        cache_by_precision,
        activations_linear,
        accumulation,
        accumulation_time,
    )
}
