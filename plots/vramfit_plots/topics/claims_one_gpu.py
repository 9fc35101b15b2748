"""What the claims about one GPU are answered by."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from vramfit_plots.cards import Card
from vramfit_plots.cells import differ
from vramfit_plots.errors import AbsentError
from vramfit_plots.formula_errors import errors_in_pytorch, errors_in_run, off
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, MEASURED, OURS, PREDICTED, TORCH_MEASURED, Source
from vramfit_plots.topics.checkpointing import plain_row
from vramfit_plots.topics.claims_answer import (
    Answer,
    Asked,
    Figures,
    best_of_each,
    each,
    judge,
    of_both,
)
from vramfit_plots.topics.levels import our_shares, pytorch_shares
from vramfit_plots.topics.lora import adapters
from vramfit_plots.units import (
    GB,
    gb,
    gigabytes,
    in_words,
    number,
    percent,
    share,
    times,
    with_unit,
)

NEAR_TIME = 0.1  # of a step's time: "about"
_NEAR_LINE = 0.05  # of what a token takes
_BATCHES, _LENGTHS = (1, 2, 4, 8, 16), (512, 2048)
_SAME = 0.1  # of what the cache and a prompt's temporaries add
_WEIGHTS = ("fp32", "fp16", "bf16", "int8", "nf4")
_OPENING_GB = 24
_RUNS = {PREDICTED: "rows predicted for vramfit", TORCH_MEASURED: "cases measured in PyTorch"}


def opening_card(inputs: Inputs) -> Card:
    rows = inputs.article.oom_cliff["rows"]
    row = next((row for row in rows if row["vram_gb"] == _OPENING_GB), rows[0])
    return inputs.cards[row["gpu"]]


def taken(asked: Asked, row: str = "") -> dict[Source, float]:
    """Of a card in all, its driver's share included."""
    reserved = opening_card(asked.inputs).driver_reserved
    return each(asked.counted("device_used", row), lambda used: used + reserved)


def of_the_opening_card(asked: Asked) -> str:
    card = opening_card(asked.inputs)
    return (
        f"an {card.title} has {gigabytes(card.vram)}; context and a prompt of "
        f"{asked.case.number('seq')} tokens are counted"
    )


def _taken_near(asked: Asked) -> Figures:
    """PyTorch's of the row nearby, where it was not measured at the claim's."""
    own = TORCH_MEASURED in taken(asked) or "near" not in asked.claim
    beside = {} if own else taken(asked, asked.near)
    return {source: beside[source] for source in [TORCH_MEASURED] if source in beside}


def taken_or_near(asked: Asked) -> Figures:
    return {**taken(asked), **_taken_near(asked)}


def of_the_whole_card(asked: Asked) -> str:
    near = f"; {asked.claim['near']['as']}" if _taken_near(asked) else ""
    return (
        f"all that a card loses at batch {asked.case.number('batch')}; vramfit's Adam keeps m and "
        f"v in FP32, PyTorch's in the weights' 16 bits{near}"
    )


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


def _formula_errors(asked: Asked) -> dict[Source, pd.Series]:
    found = {PREDICTED: errors_in_run(asked.inputs)}
    if asked.inputs.accuracy is not None:
        found[TORCH_MEASURED] = errors_in_pytorch(asked.inputs.accuracy)
    return {source: errors for source, errors in found.items() if len(errors)}


def formulas_median(asked: Asked) -> Figures:
    return each(_formula_errors(asked), lambda errors: float(errors.median()))


def of_the_formula(asked: Asked) -> str:
    errors = _formula_errors(asked)
    return (
        "the rules themselves are not in our copy of the article; will_it_fit's training total is "
        "off by " + " and ".join(f"{off(errors[source])} {_RUNS[source]}" for source in errors)
    )


def cache_a_token(asked: Asked) -> Figures:
    tokens = asked.case.number("batch") * asked.case.number("seq")
    return each(asked.counted("kv_cache"), lambda cache: cache / tokens)


def cache_in_gib(asked: Asked) -> str:
    largest = max(asked.counted("kv_cache").values(), default=0.0)
    return f"{number(largest / 2**30, 2)} GiB is {gigabytes(largest, 2)}"


def cache_by_precision(asked: Asked) -> Answer:
    """By what the same prompt adds to weights of each precision."""
    precision = asked.inputs.run.parse(asked.near).text("precision")
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
        {source: "\n".join(own) for source, own in lines.items()},
        f"Holds for {words} within {share(_SAME, 0)}, judged by what a prompt adds to the model: "
        f"cache and temporaries.{but}",
    )


def int4_model(asked: Asked) -> tuple[float, str]:
    """Its bytes, and whose they are."""
    rows = {row["precision"]: row for row in asked.inputs.article.inference["rows"]}
    measured = asked.inputs.of(asked.near, TORCH_MEASURED, "parameters")
    if measured:
        return measured, asked.claim["near"]["as"]
    return rows["INT4"]["model"] * GB, ARTICLE.heading


def of_the_int4_model(asked: Asked) -> str:
    model, whose = int4_model(asked)
    return f"the model takes {gigabytes(model)} ({whose})"


def master_weights(asked: Asked) -> Figures:
    """vramfit's alone: PyTorch's states are of another width with and without autocast."""
    with_master = asked.counted("optimizer_state")
    without = asked.counted("optimizer_state", asked.row.replace("adamw-master", "adamw"))
    found = of_both(with_master, without, lambda a, b: a - b)
    return {source: value for source, value in found.items() if source in OURS}


def _each_printed(asked: Asked) -> float:
    """Bytes a parameter, as the article has more of them."""
    return asked.printed / asked.inputs.article.seven_b


def as_many_each(asked: Asked, value: float) -> bool:
    return not differ(value / asked.parameters, _each_printed(asked))


def of_states(remark: str) -> Callable[[Asked], str]:
    return lambda asked: f"{number(_each_printed(asked))} B/param in the article; {remark}"


def activations_linear(asked: Asked) -> Answer:
    by_source: dict[Source, list[float]] = {}
    for row in (asked.row, asked.near):
        start = row.partition("/batch:")[0]
        for batch in _BATCHES:
            for length in _LENGTHS:
                found = asked.kept(f"{start}/batch:{batch}/seq:{length}")
                for source, value in found.items():
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


def fewer_trained(asked: Asked, row: str = "") -> Figures:
    """How many times fewer parameters are trained than the model has. Of vramfit the row counts
    them; PyTorch's are those that were measured."""
    trained = asked.counted("trainable", row)
    if own := asked.inputs.value(row or asked.row, "params_trained"):
        trained[PREDICTED] = own
    return each(trained, lambda n: asked.parameters / n)


def of_adapters(asked: Asked) -> str:
    return adapters(asked.inputs, asked.row)


def of_more_adapters(asked: Asked) -> str:
    """Of the usual targets; and what more of them come to."""
    wider = fewer_trained(asked, asked.near)
    said = in_words(dict.fromkeys(number(ratio) for ratio in wider.values()))
    beside = f"; {asked.claim['near']['as']} {said} times fewer" if wider else ""
    out = "" if all(map(asked.within, wider.values())) else ", which is out of its range"
    return f"{of_adapters(asked)}{beside}{out}"


def adapters_states(asked: Asked) -> Figures:
    after, before = (asked.counted(f"step1_{s}_after") for s in ("optimizer", "backward"))
    return of_both(after, before, lambda a, b: a - b)


def _size(asked: Asked) -> str:
    name = asked.inputs.run.parse(asked.near)
    return times(name.number("batch"), name.number("seq"))


def times_less_kept(asked: Asked) -> Figures:
    return of_both(asked.kept(plain_row(asked.near)), asked.kept(asked.near), lambda a, b: a / b)


def of_the_forward_pass(asked: Asked) -> str:
    ratios = times_less_kept(asked).values()
    more = "it saves more; " if ratios and min(ratios) > asked.claim["high"] else ""
    rows = (asked.near, plain_row(asked.near))
    with_it, plain = (best_of_each(asked.counted("allocated", row)) for row in rows)
    falls = [
        f"{source.side}'s from {gb(plain[source])} to {gigabytes(with_it[source])}"
        for source in with_it
        if source in plain
    ]
    peak = f"; the peak of all steps falls less, {' and '.join(falls)}" if falls else ""
    return f"{more}{_size(asked)} tokens, after the forward pass{peak}"


def more_time(asked: Asked) -> Figures:
    fast, slow = (asked.inputs.speeds(row) for row in (plain_row(asked.near), asked.near))
    return of_both(fast, slow, lambda a, b: a / b - 1)


def of_a_step(asked: Asked) -> str:
    return f"within {share(NEAR_TIME, 0)} of a step, {_size(asked)} tokens"


@dataclass(frozen=True)
class _Accumulated:
    """A row of several micro-batches, one of them alone, and all their sequences at once."""

    row: str
    micro: str
    whole: str
    batch: int
    steps: int

    @property
    def rows(self) -> Iterable[str]:
        return self.row, self.micro, self.whole


def _accumulated(asked: Asked) -> _Accumulated:
    row, name = asked.near, asked.inputs.run.parse(asked.near)
    batch, steps = name.number("batch"), name.number("accumulate")
    micro = row.removesuffix(f"/accumulate:{steps}")
    whole = micro.replace(f"batch:{batch}", f"batch:{batch * steps}")
    return _Accumulated(row, micro, whole, batch, steps)


def accumulation(asked: Asked) -> Answer:
    of = _accumulated(asked)
    batch, steps = of.batch, of.steps
    accumulated, micro, whole = (asked.counted("allocated", row) for row in of.rows)
    more = of_both(accumulated, micro, lambda a, b: a - b)
    if not more:
        raise AbsentError(of.row)
    sizes = ((accumulated, times(steps, batch)), (micro, times(1, batch)))
    sizes += ((whole, times(1, batch * steps)),)
    texts = {
        source: "\n".join(f"{gb(own[source])} at {size}" for own, size in sizes if source in own)
        for source in more
    }
    if not any(differ(accumulated[source], micro[source]) for source in more):
        return Answer(texts, "Holds.")
    least, most = min(more.values()), max(more.values())
    range_ = gigabytes(most) if gb(least) == gb(most) else f"{gb(least)} to {gigabytes(most)}"
    dearer = any(whole.get(source, 0) > accumulated[source] for source in more)
    return Answer(
        texts,
        f"Nearly: the gradients stay while the next micro-batch runs, so that steps of {steps} "
        f"micro-batches take {range_} more than one alone"
        f"{'; the whole batch at once takes more still' if dearer else ''}.",
    )


def accumulation_time(asked: Asked) -> Answer:
    """Against one micro-batch; the same sequences at once are the fairer comparison."""
    of = _accumulated(asked)
    accumulated, micro, whole = (asked.inputs.speeds(row) for row in of.rows)
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
    most = share(max(beside.values()), 0) if beside else ""
    remark = f"; the same sequences at once save at most {most} of it" if beside else ""
    if not longer:
        return Answer(figures, f"Nobody timed one micro-batch alone{remark}.")
    word = judge(longer, lambda ratio: not differ(ratio, asked.claim["value"], NEAR_TIME))
    return Answer(figures, f"{word} within {share(NEAR_TIME, 0)}{remark}.")
