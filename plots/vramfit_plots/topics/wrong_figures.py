"""The figures of what is wrong with the article, by the name that wrong.json has for them.

Of {} nothing disagrees; an AbsentError says that this run cannot tell."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from vramfit_plots.article import BYTES_PER_WEIGHT
from vramfit_plots.cells import differ
from vramfit_plots.files import AbsentError
from vramfit_plots.formula_errors import errors_in_pytorch, errors_in_run, off
from vramfit_plots.inputs import Inputs
from vramfit_plots.rows import RowName, Spread, spread
from vramfit_plots.sources import MEASURED, OURS, PREDICTED, THEIRS, TORCH, TORCH_MEASURED, Source
from vramfit_plots.topics import multi_gpu
from vramfit_plots.topics.cliffs import attempt
from vramfit_plots.topics.levels import our_shares, pytorch_shares
from vramfit_plots.units import (
    GB,
    MIB,
    OOM,
    batch,
    gb,
    gigabytes,
    in_words,
    mib,
    number,
    share,
    times,
)

Figures = Mapping[str, Any]
BY_NAME: dict[str, Callable[[Inputs], Figures]] = {}


def figures(compute: Callable[[Inputs], Figures]) -> Callable[[Inputs], Figures]:
    BY_NAME[compute.__name__] = compute
    return compute


def _pytorch(inputs: Inputs, optimizer: str, counter: str) -> float:
    """Measured in PyTorch at Table 2's batch and length, in bf16, with the optimizer that joins
    ours of this name."""
    row = inputs.article.table_2_row.replace("/fp16/adamw/", f"/bf16/{optimizer}/")
    return inputs.need(row, TORCH_MEASURED.prefix + counter)


def _ours(inputs: Inputs, row: str, *counters: str) -> Source:
    """Whose figures are said of vramfit: those measured, where the row was and has them all."""
    return MEASURED if inputs.all_of(row, MEASURED, *counters) else PREDICTED


def _how(source: Source) -> str:
    """ "measured" or "predicted"."""
    return source.heading.removeprefix(f"{source.side} ")


def _table_2_case(inputs: Inputs) -> RowName:
    return inputs.run.parse(inputs.article.table_2_row)


def _fsdp(inputs: Inputs, gpus: int) -> Spread:
    """What several GPUs were measured to take of each."""
    for row in inputs.reference.rows.index:
        found = spread(row)
        if found and (found.strategy, found.gpus) == ("fsdp", gpus) and not found.more:
            return found
    raise AbsentError(f"PyTorch's fsdp on {gpus} GPUs")


@figures
def parameter_count(inputs: Inputs) -> Figures:
    model, assumed = inputs.article.inference["model"], inputs.article.seven_b
    true = inputs.models[model].parameters
    change = true / assumed - 1
    return {"model": model, "assumed": assumed, "published": true, "change": change}


def _will_it_fit(
    inputs: Inputs, case: RowName | Mapping[str, Any], what: str, *parts: str
) -> float:
    """Bytes that the article's code gives these parts of 7 billion parameters; `what` is
    "fp16/adam"."""
    axes = case.axes if isinstance(case, RowName) else case
    row = f"Article/will_it_fit/7B/{what}/batch:{axes['batch']}/seq:{axes['seq']}"
    return sum(inputs.need(row, f"article_formula_{part}") for part in parts)


@figures
def table_2_and_calculator(inputs: Inputs) -> Figures:
    printed, case = inputs.article.stage_memory("optimizer"), _table_2_case(inputs)
    states = ("parameters", "gradients", "optimizer_state")
    fixed = _will_it_fit(inputs, case, "fp16/adam", *states)
    master = inputs.article.claim("master_weights_extra")["value"] * GB
    are = f" The {gigabytes(master)} between them are the FP32 master weights."
    return {
        "printed": printed,
        "printed_each": printed / inputs.article.seven_b,
        "fixed": fixed,
        "activations": _will_it_fit(inputs, case, "fp16/adam", "activations"),
        "fixed_each": fixed / inputs.article.seven_b,
        "why": "" if differ(fixed - printed, master) else are,
    }


@figures
def activations(inputs: Inputs) -> Figures:
    row, memory = inputs.article.table_2_row, inputs.article.stage_memory
    counters = ("step1_forward_after", "step1_loaded_after")
    source = _ours(inputs, row, *counters)
    forward, loaded = (inputs.need(row, source.prefix + counter) for counter in counters)
    torch_forward, torch_loaded = (_pytorch(inputs, "adamw", counter) for counter in counters)
    return {
        "printed": memory("forward") - memory("loaded"),
        "formula": _will_it_fit(inputs, _table_2_case(inputs), "fp16/adam", "activations"),
        "own": forward - loaded,
        "how": _how(source),
        "theirs": torch_forward - torch_loaded,
    }


@figures
def torch_keeps_other_states(inputs: Inputs) -> Figures:
    return {
        "printed": inputs.article.stage_memory("optimizer"),
        "after": _pytorch(inputs, "adamw", "step1_optimizer_after"),
        "peak": _pytorch(inputs, "adamw", "step1_optimizer_peak"),
    }


def _growth(inputs: Inputs, row: str) -> tuple[Source, float, float]:
    """The peak of the first step and that of all, and who says so."""
    stages = [f"step1_{entry['stage']}_peak" for entry in inputs.article.waterfall["rows"]]
    source = _ours(inputs, row, "allocated", *stages)
    first = max(inputs.divisor(row, source.prefix + stage) for stage in stages)
    return source, first, inputs.need(row, f"{source.prefix}allocated")


@figures
def first_step_only(inputs: Inputs) -> Figures:
    """Shown for the batch and length where it matters most, all else as in Table 2."""
    start = inputs.article.table_2_row.split("/batch:")[0] + "/batch:"
    plain = {"model", "precision", "optimizer", "batch", "seq"}  # axes of a usual row
    peaks = {
        name: _growth(inputs, name)
        for name in inputs.run.rows.index
        if name.startswith(start)
        and inputs.run.parse(name).axes.keys() == plain
        and not inputs.value(name, "oom")
    }
    if not peaks:
        raise AbsentError(f"{start}*")
    worst = max(peaks, key=lambda name: peaks[name][2] / peaks[name][1])
    source, first, later = peaks[worst]
    if not differ(first, later):
        return {}
    fsdp = _fsdp(inputs, 2).row
    theirs = [
        max(
            inputs.need(fsdp, f"{TORCH_MEASURED.prefix}step{step}_{stage}_peak")
            for stage in ("forward", "backward", "optimizer")
        )
        for step in (1, 2)
    ]
    case, how = inputs.run.parse(worst), _how(source)
    return {"case": case, "first": first, "later": later, "how": how, "theirs": theirs}


@figures
def adam_does_fit(inputs: Inputs) -> Figures:
    claim = inputs.article.claim("adam_7b_does_not_fit")
    case = inputs.run.parse(claim["row"])
    card, fitting = inputs.cards[case.text("gpu")], []
    for optimizer, states in (("adamw", "FP32"), ("adamw-same", "FP16")):
        name = claim["row"].replace("/adamw/", f"/{optimizer}/")
        source = _ours(inputs, name, "max_batch")
        largest = inputs.need(name, f"{source.prefix}max_batch")
        if largest > 0:
            fitting.append(f"batch {number(largest)} with m and v in {states} ({_how(source)})")
    if not fitting:
        return {}
    taken = _pytorch(inputs, "adamw-same", "device_used")
    measured = (
        f" PyTorch's fused AdamW takes {gigabytes(taken)} at batch "
        f"{_table_2_case(inputs).number('batch')} in BF16 (measured)."
    )
    printed = {row["cells"][0]["max_batch"] for row in inputs.article.oom_cliff["rows"]}
    return {
        "claim": claim["text"],
        "table": "; Table 3 has OOM at every size" if printed == {OOM} else "",
        "card": card,
        "fitting": in_words(fitting),
        "seq": case.number("seq"),
        "measured": measured if taken < card.vram else "",
    }


@figures
def kv_total(inputs: Inputs) -> Figures:
    printed = inputs.article.claim("kv_cache_total")
    a_token = inputs.article.claim("kv_bytes_per_token")["value"]
    row = inputs.run.parse(printed["row"])
    size = (row.number("batch"), row.number("seq"))
    total = a_token * size[0] * size[1]
    return {
        "a_token": a_token,
        "product": times(number(a_token), *size),
        "total": total,
        "gib": total / 2**30,
        "printed": printed["value"] * GB,
        "printed_gb": printed["value"],
    }


@figures
def kv_any_precision(inputs: Inputs) -> Figures:
    """Judged at Table 1's last point, where the cache is nearly all that is added."""
    rows = {row["precision"]: row for row in inputs.article.inference["rows"]}
    point = rows["FP16"]["points"][-1]
    return {
        **{name: (row["points"][-1]["peak"] - row["model"]) * GB for name, row in rows.items()},
        "claim": inputs.article.claim("kv_cache_any_precision")["text"],
        "point": point,
        "coded": _will_it_fit(inputs, point, "int4", "kv_cache"),
    }


@figures
def peak_is_no_cache(inputs: Inputs) -> Figures:
    """Judged where the cache is largest."""
    row = inputs.article.claim("kv_cache_total")["row"].replace("KvCache/", "Inference/")
    counters = ("allocated", "parameters", "kv_cache")
    source = _ours(inputs, row, *counters)
    found = [[inputs.need(row, s.prefix + c) for c in counters] for s in (source, TORCH)]
    (own, cache), (theirs, their_cache) = ((peak - model, kept) for peak, model, kept in found)
    sides = {"own": own, "cache": cache, "theirs": theirs, "their_cache": their_cache}
    return {"case": inputs.run.parse(row), "how": _how(source), **sides}


@figures
def quantised_weights(inputs: Inputs) -> Figures:
    model = inputs.article.inference["model"]
    true = inputs.models[model].parameters
    return {
        "model": model,
        "int8": BYTES_PER_WEIGHT["INT8"],
        "int4": BYTES_PER_WEIGHT["INT4"],
        "q8": inputs.reference.file_bytes("Q8_0") / true,
        "q4": inputs.reference.file_bytes("Q4_0") / true,
    }


@figures
def lora_column(inputs: Inputs) -> Figures:
    article = inputs.article.oom_cliff
    printed = {row["vram_gb"]: row["cells"][-1]["max_batch"] for row in article["rows"]}
    code = f"Article/find_max_batch_size/7B/int8/seq:{article['seq']}/vram:{{}}GB"
    coded = [inputs.need(code.format(vram), "article_max_batch") for vram in printed]
    numbers = {vram: n for vram, n in printed.items() if isinstance(n, int)}
    if any(coded) or not numbers:
        return {}
    slopes = [(numbers[b] - numbers[a]) / (b - a) for a, b in pairwise(numbers)]
    rises = " and ".join(number(slope, 1) for slope in slopes)
    caps = inputs.reference.lora_max_batch.items()
    return {
        "column": article["columns"][-1],
        "printed": ", ".join(map(str, printed.values())),
        "line": f", rises by {rises} a GB rather than in a line" if differ(*slopes) else "",
        "seq": article["seq"],
        "measured": ", ".join(f"{n} in {mib(cap * MIB)}" for cap, n in caps),
        "on_int8": _on_int8(inputs),
        "fits": "".join(_largest_batches(inputs, sources) for sources in (OURS, THEIRS)),
    }


def _on_int8(inputs: Inputs) -> str:
    """What PyTorch takes at a batch below the smallest printed one, where that is more than its
    card has."""
    article, model = inputs.article.oom_cliff, inputs.article.inference["model"]
    row = next(row for row in article["rows"] if isinstance(row["cells"][-1]["max_batch"], int))
    card, printed = inputs.cards[row["gpu"]], row["cells"][-1]["max_batch"]
    start, end = f"Training/{model}/int8/adamw/batch:", f"/seq:{article['seq']}/lora:16"
    for name in inputs.rows.index:
        if not (name.startswith(start) and name.endswith(end)):
            continue
        size = inputs.run.parse(name).number("batch")
        taken = inputs.of(name, TORCH_MEASURED, "device_used")
        if size <= printed and taken is not None and taken > card.vram:
            return (
                f" On bitsandbytes' INT8 weights batch {size} was measured to take "
                f"{gigabytes(taken)}, more than the {gigabytes(card.vram)} of the card for which "
                f"the table has batch {printed}."
            )
    return ""


def _largest_batches(inputs: Inputs, sources: tuple[Source, ...]) -> str:
    """What a side fits where the column's figures stand, and what it takes to meet them."""
    entries = [row["cells"][-1] for row in inputs.article.oom_cliff["rows"]]

    def fits(entry: Mapping[str, Any], source: Source) -> str | None:
        row, printed = entry["row"], entry["max_batch"]
        largest = inputs.of(row, source, "max_batch")
        if largest is None:
            return None
        tried = attempt(inputs, row, source, printed)
        return batch(largest) + (f" ({printed} is {tried.words})" if tried else "")

    for source in sources:
        found = [fits(entry, source) for entry in entries]
        if None not in found:
            return f" {source.heading}, {entries[0]['whose'][source.side]}: {in_words(found)}."
    return ""


@figures
def table_4_and_code(inputs: Inputs) -> Figures:
    article = inputs.article.multi_gpu
    assumed = inputs.article.assumed_parameters()[article["model"]]
    row, whole = (inputs.article.shared_by(whole=whole) for whole in (False, True))
    cell, coded = row["cells"][0], multi_gpu.by_the_code
    printed = [whole["cells"][0]["memory"] * GB, *(c["memory"] * GB for c in row["cells"])]
    by_code = [
        coded(inputs, whole["strategy"], cell["gpus"]),
        *(coded(inputs, row["strategy"], c["gpus"]) for c in row["cells"]),
    ]
    fsdp = _fsdp(inputs, cell["gpus"])
    held = cell["gpus"] * inputs.need(fsdp.row, f"{TORCH_MEASURED.prefix}step1_optimizer_after")
    return {
        "printed": ", ".join(gb(value, 0) for value in printed),
        "coded": ", ".join(gb(value, 0) for value in by_code),
        "printed_each": printed[0] / assumed,
        "coded_each": by_code[0] / assumed,
        "held": held / inputs.models[fsdp.model].parameters,
    }


@figures
def formula_against_runs(inputs: Inputs) -> Figures:
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
        return {}
    return {"tolerance": tolerance, "ours": off(ours), "theirs": off(torch)}


@figures
def beyond_the_allocator(inputs: Inputs) -> Figures:
    theirs, own = pytorch_shares(inputs), our_shares(inputs)
    if theirs.within == theirs.count:
        return {}
    said = own and (
        f" vramfit's own step was measured at {share(min(own.shares))} to "
        f"{share(max(own.shares))}: a pool that knows the step fragments little, and the context "
        "does not grow with the model."
    )
    return {"claimed": theirs.claimed, "words": theirs.words, "own": said or ""}
