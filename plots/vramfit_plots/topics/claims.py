"""What the article says outside its tables, each claim with its answer or why there is none."""

from collections.abc import Callable, Mapping
from typing import Any

from vramfit_plots.captions import Caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import COUNTED
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.topics import claims_one_gpu as one_gpu
from vramfit_plots.topics import claims_several_gpus as several_gpus
from vramfit_plots.topics.claims_answer import Answer, Asked, Judged, as_many_gb, as_printed
from vramfit_plots.units import GB, batch, gigabytes, number, share, with_unit


def _at_least(asked: Asked, taken: float) -> bool:
    return taken >= asked.claim["low"] * GB


# Of each: the figures, how they are written, whether one holds, and what is remarked.
_ANSWERS: Mapping[str, Callable[[Asked], Answer]] = {
    "opening_fp32": Judged(
        one_gpu.taken,
        gigabytes,
        lambda asked, taken: taken > one_gpu.opening_card(asked.inputs).vram,
        one_gpu.of_the_opening_card,
    ),
    "opening_fp16": Judged(
        one_gpu.taken,
        gigabytes,
        lambda asked, taken: taken <= one_gpu.opening_card(asked.inputs).vram,
        one_gpu.of_the_opening_card,
    ),
    "opening_training": Judged(
        one_gpu.taken_or_near, gigabytes, _at_least, one_gpu.of_the_whole_card
    ),
    "over_80_at_any_batch": Judged(
        one_gpu.taken_or_near, gigabytes, _at_least, one_gpu.of_the_whole_card
    ),
    "kv_bytes_per_token": Judged(
        one_gpu.cache_a_token, lambda value: with_unit(number(value), "bytes"), as_printed
    ),
    "kv_cache_total": Judged(
        lambda asked: asked.counted("kv_cache"),
        lambda value: gigabytes(value, 2),
        as_many_gb,
        one_gpu.cache_in_gib,
    ),
    "kv_cache_any_precision": one_gpu.cache_by_precision,
    "cache_larger_than_int4": Judged(
        lambda asked: asked.counted("kv_cache"),
        gigabytes,
        lambda asked, cache: cache > one_gpu.int4_model(asked)[0],
        one_gpu.of_the_int4_model,
    ),
    "outside_the_allocator": one_gpu.outside_the_allocator,
    "master_weights_extra": Judged(
        one_gpu.master_weights,
        gigabytes,
        one_gpu.as_many_each,
        one_gpu.of_states("in PyTorch under autocast there is no second copy"),
    ),
    "master_weights_optimizer": Judged(
        lambda asked: asked.counted("optimizer_state"),
        gigabytes,
        one_gpu.as_many_each,
        one_gpu.of_states(
            "in PyTorch under autocast the FP32 weights are the parameters, and no state"
        ),
    ),
    "adam_7b_does_not_fit": Judged(
        lambda asked: asked.counted("max_batch"),
        lambda value: batch(value) if value <= 0 else f"batch {batch(value)}",
        lambda _, value: value <= 0,
        lambda asked: (
            "the largest batch that fits an " + asked.inputs.cards[asked.case.text("gpu")].title
        ),
    ),
    "activations_linear": one_gpu.activations_linear,
    "lora_parameters": Judged(
        one_gpu.fewer_trained,
        lambda ratio: f"{number(ratio)} times fewer",
        Asked.within,
        one_gpu.of_more_adapters,
    ),
    "lora_optimizer": Judged(
        one_gpu.adapters_states,
        lambda value: gigabytes(value, 2),
        lambda asked, value: value < asked.claim["high"] * GB,
        one_gpu.of_adapters,
    ),
    "checkpointing_memory": Judged(
        one_gpu.times_less_kept,
        lambda ratio: f"{number(ratio, 1)} times less",
        Asked.within,
        one_gpu.of_the_forward_pass,
    ),
    "checkpointing_time": Judged(
        one_gpu.more_time,
        lambda more: f"{share(more, 0)} more",
        lambda asked, more: abs(more - asked.claim["value"] / 100) <= one_gpu.NEAR_TIME,
        one_gpu.of_a_step,
    ),
    "accumulation": one_gpu.accumulation,
    "accumulation_time": one_gpu.accumulation_time,
    "rules_of_thumb": Judged(
        one_gpu.formulas_median,
        lambda median: f"{share(median, 0)}\nmedian error",
        lambda asked, median: median <= asked.claim["value"] / 100,
        one_gpu.of_the_formula,
    ),
    "data_parallel_saves_nothing": several_gpus.data_parallel_saves_nothing,
    "data_parallel_throughput": several_gpus.throughput,
    "fsdp_throughput": several_gpus.throughput,
    "fsdp_no_bubble": several_gpus.fsdp_no_bubble,
    "fsdp_capacity": several_gpus.capacity,
    "pipeline_capacity": several_gpus.capacity,
    "pipeline_throughput": several_gpus.pipeline_throughput,
}


def answer(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    if "reply" in claim:
        return Answer({}, claim["reply"])
    try:
        return _ANSWERS[claim["id"]](Asked(inputs, claim))
    except AbsentError as missing:
        return Answer({}, f"This run cannot tell: it does not hold {missing}.")


def build(inputs: Inputs) -> list[Table]:
    answered = [(claim["text"], answer(inputs, claim)) for claim in inputs.article.claims]
    columns = [
        Column("the article says", lambda line: line[0], text=True),
        Column("verdict", lambda line: line[1].verdict, text=True),
        *(
            Column(source.heading, lambda line, source=source: line[1].figures.get(source))
            for source in COUNTED
            if any(source in one.figures for _, one in answered)
        ),
    ]
    below = Caption(
        "Every claim of the article outside its tables, with what answers it. A claim holds where "
        "the figures are within 1 % of it, unless the verdict says how near."
    )
    return [listing("claims", "The article's other claims", columns, answered, below)]
