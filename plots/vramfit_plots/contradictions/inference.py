"""Items about Table 1: sizes of weights and of the KV cache."""

from vramfit_plots import article_code
from vramfit_plots.article import BYTES_PER_WEIGHT
from vramfit_plots.contradictions.common import differ, how, ours, seven_b
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import TORCH
from vramfit_plots.units import GB, gb, gigabytes, number, percent, times


def parameter_count(inputs: Inputs) -> str | None:
    model = inputs.article.inference["model"]
    assumed, true = seven_b(inputs), inputs.models[model].parameters
    if not differ(assumed, true):
        return None
    return (
        f"The article's 7B sizes are those of {number(assumed)} parameters; {model} has "
        f"{number(true)}. That alone moves every figure in proportion by "
        f"{percent(true / assumed - 1)}."
    )


def kv_total(inputs: Inputs) -> str | None:
    printed = inputs.article.claim("kv_cache_total")
    a_token = inputs.article.claim("kv_bytes_per_token")["value"]
    row = inputs.run.parse(printed["row"])
    batch, seq = row.number("batch"), row.number("seq")
    total = a_token * batch * seq
    if not differ(total, printed["value"] * GB):
        return None
    return (
        f"The KV cache at {number(a_token)} bytes a token is {times(number(a_token), batch, seq)} "
        f"= {gigabytes(total, 2)}, {number(total / 2**30, 1)} GiB, not {printed['value']} GB."
    )


def kv_any_precision(inputs: Inputs) -> str | None:
    """Judged at Table 1's last point, where the cache is nearly all that is added."""
    rows = {row["precision"]: row for row in inputs.article.inference["rows"]}
    added = {name: (row["points"][-1]["peak"] - row["model"]) * GB for name, row in rows.items()}
    point = rows["FP16"]["points"][-1]
    int4 = article_code.inference(inputs, "int4", point["batch"], point["seq"]).kv_cache
    if not differ(added["FP16"], added["FP32"]) and not differ(added["INT4"], int4):
        return None
    return (
        f"The article says: {inputs.article.claim('kv_cache_any_precision')['text']}. In Table 1 "
        f"batch {point['batch']} with {point['seq']} tokens adds {gb(added['FP32'])} to FP32 and "
        f"{gigabytes(added['FP16'])} to FP16; to INT4 the table adds {gb(added['INT4'])}, the "
        f"article's calculator {gigabytes(int4)}."
    )


def peak_is_no_cache(inputs: Inputs) -> str | None:
    """Judged where the cache is largest."""
    row = inputs.article.claim("kv_cache_total")["row"].replace("KvCache/", "Inference/")
    case = inputs.run.parse(row)
    counters = ("allocated", "parameters", "kv_cache")
    own = ours(inputs, row, *counters)
    added, cache = [], []
    for source in (own, TORCH):
        peak, model, kept = (inputs.need(row, source.prefix + counter) for counter in counters)
        added.append(peak - model)
        cache.append(kept)
    if not any(differ(a, b) for a, b in zip(added, cache, strict=True)):
        return None
    return (
        "The article's loop reports peak less model as the KV cache. At batch "
        f"{case.number('batch')} with {case.number('seq')} tokens in FP16 that is "
        f"{gigabytes(added[0])} in vramfit ({how(own)}) and {gigabytes(added[1])} in PyTorch "
        f"({how(TORCH)}); {gigabytes(cache[0])} of it are the cache, the rest the prompt's "
        "activations."
    )


def quantised_weights(inputs: Inputs) -> str | None:
    model = inputs.article.inference["model"]
    true = inputs.models[model].parameters
    stored = {"INT8": "Q8_0", "INT4": "Q4_0"}
    per_weight = {name: inputs.reference.file_bytes(file) / true for name, file in stored.items()}
    if not any(differ(per_weight[name], BYTES_PER_WEIGHT[name]) for name in stored):
        return None
    said = " and ".join(f"{number(BYTES_PER_WEIGHT[name], 1)} for {name}" for name in stored)
    found = " and ".join(f"{number(per_weight[name], 2)} ({file})" for name, file in stored.items())
    return (
        f"In B/param the article counts {said}. As people store such weights, with scales and some "
        f"tensors kept wider, they take more: llama.cpp's files of {model} have {found}."
    )
