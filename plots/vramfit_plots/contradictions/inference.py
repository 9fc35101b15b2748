"""Items about Table 1: sizes of weights and of the KV cache."""

from vramfit_plots import article_code
from vramfit_plots.article import BYTES_PER_WEIGHT
from vramfit_plots.contradictions.common import differ, seven_b
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import PREDICTED, TORCH
from vramfit_plots.units import GB, gb, gigabytes, number, percent, times


def parameter_count(inputs: Inputs) -> str | None:
    model = inputs.article.inference["model"]
    assumed, true = seven_b(inputs), inputs.models[model].parameters
    if not differ(assumed, true):
        return None
    return (
        f"Its 7B sizes are those of {number(assumed)} parameters; {model} has {number(true)}. "
        f"That alone moves every figure in proportion by {percent(true / assumed - 1)}."
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
        f"{inputs.article.claim('kv_cache_any_precision')['text']}, it says. In Table 1 batch "
        f"{point['batch']} with {point['seq']} tokens adds {gb(added['FP32'])} to FP32 and "
        f"{gb(added['FP16'])} to FP16; for INT4 the table adds {gb(added['INT4'])}, its calculator "
        f"{gigabytes(int4)}."
    )


def peak_is_no_cache(inputs: Inputs) -> str | None:
    """Judged where the cache is largest."""
    row = inputs.article.claim("kv_cache_total")["row"].replace("KvCache/", "Inference/")
    case = inputs.run.parse(row)
    added, cache = [], []
    for source in (PREDICTED, TORCH):
        peak, model, kept = (
            inputs.need(row, f"{source.prefix}{counter}")
            for counter in ("allocated", "parameters", "kv_cache")
        )
        added.append(peak - model)
        cache.append(kept)
    if not any(differ(a, b) for a, b in zip(added, cache, strict=True)):
        return None
    return (
        f"Its loop reports peak less model as the KV cache. At batch {case.number('batch')} with "
        f"{case.number('seq')} tokens in FP16 that is {gb(added[0])} in vramfit and "
        f"{gigabytes(added[1])} in PyTorch; the cache is {gigabytes(cache[0])} of it, the rest are "
        "the prompt's activations."
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
        f"It counts {said} B/param. As people store them, with scales and some tensors kept "
        f"wider, llama.cpp's files of {model} take {found}."
    )
