"""Claims about the KV cache."""

from collections.abc import Mapping
from typing import Any

from vramfit_plots.claims.answer import Answer, counted, each, judged, of_both
from vramfit_plots.contradictions.common import differ
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, TORCH_MEASURED
from vramfit_plots.units import GB, gb, gigabytes, in_words, number, percent, with_unit

_SAME = 0.1  # of what the cache and a prompt's temporaries add
_WEIGHTS = ("fp32", "fp16", "bf16", "int8", "nf4")


def _tokens(inputs: Inputs, row: str) -> int:
    name = inputs.run.parse(row)
    return name.number("batch") * name.number("seq")


def cache_a_token(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    tokens = _tokens(inputs, claim["row"])
    figures = each(counted(inputs, claim["row"], "kv_cache"), lambda cache: cache / tokens)
    return judged(
        figures,
        lambda value: with_unit(number(value), "bytes"),
        lambda value: not differ(value, claim["value"]),
    )


def cache(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    figures = counted(inputs, claim["row"], "kv_cache")
    largest = max(figures.values(), default=0.0)
    return judged(
        figures,
        lambda value: gigabytes(value, 2),
        lambda value: not differ(value, claim["value"] * GB),
        f"{number(largest / 2**30, 2)} GiB is {gigabytes(largest, 2)}",
    )


def cache_by_precision(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    """By what the same prompt adds to weights of each precision."""
    near = claim["near"]["row"]
    precision = inputs.run.parse(near).text("precision")
    added: dict[str, dict] = {}
    for weights in _WEIGHTS:
        row = near.replace(f"/{precision}/", f"/{weights}/")
        peaks, models = (counted(inputs, row, key) for key in ("allocated", "parameters"))
        added[weights] = dict(of_both(peaks, models, lambda peak, model: peak - model))
    sources = {source for figures in added.values() for source in figures}
    texts = {
        source: "\n".join(
            f"{weights.upper()} +{gb(figures[source])} GB"
            for weights, figures in added.items()
            if source in figures
        )
        for source in sources
    }
    same, other = [], []
    for weights, figures in added.items():
        base = added[precision]
        ratios = [figures[source] / base[source] for source in figures if base.get(source)]
        if ratios:
            (other if any(differ(1, ratio, _SAME) for ratio in ratios) else same).append(weights)
    if not same:
        raise AbsentError(near)
    words, exceptions = (in_words(name.upper() for name in names) for names in (same, other))
    verdict = (
        f"Holds for {words} within {percent(_SAME, 0, signed=False)}, judged by what a prompt adds "
        "to the model: cache and temporaries"
    )
    return Answer(
        texts,
        f"{verdict}. It does not for {exceptions}, whose cache is as wide as its weights."
        if other
        else f"{verdict}.",
    )


def cache_against_int4(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    rows = {row["precision"]: row for row in inputs.article.inference["rows"]}
    printed = rows["INT4"]["model"] * GB
    measured = inputs.value(claim["near"]["row"], f"{TORCH_MEASURED.prefix}parameters")
    model = measured or printed
    whose = claim["near"]["as"] if measured else ARTICLE.heading
    return judged(
        counted(inputs, claim["row"], "kv_cache"),
        gigabytes,
        lambda value: value > model,
        f"the model takes {gigabytes(model)} ({whose})",
    )
