"""What the article says outside its tables, each claim with its answer or why there is none."""

from collections.abc import Callable, Mapping
from typing import Any

from vramfit_plots.claims import budget, fitting, inference, several_gpus, training
from vramfit_plots.claims.answer import Answer
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs

_ANSWERS: Mapping[str, Callable[[Inputs, Mapping[str, Any]], Answer]] = {
    "opening_fp32": fitting.too_large,
    "opening_fp16": fitting.fits,
    "opening_training": fitting.at_least,
    "kv_bytes_per_token": inference.cache_a_token,
    "kv_cache_total": inference.cache,
    "kv_cache_any_precision": inference.cache_by_precision,
    "cache_larger_than_int4": inference.cache_against_int4,
    "outside_the_allocator": fitting.outside_the_allocator,
    "master_weights_extra": training.master_weights,
    "master_weights_optimizer": training.states_with_master_weights,
    "adam_7b_does_not_fit": fitting.nothing_fits,
    "over_80_at_any_batch": fitting.at_least,
    "activations_linear": training.activations_linear,
    "lora_parameters": budget.lora_parameters,
    "lora_optimizer": budget.lora_optimizer,
    "checkpointing_memory": budget.checkpointing_memory,
    "checkpointing_time": budget.checkpointing_time,
    "accumulation": budget.accumulation,
    "accumulation_time": budget.accumulation_time,
    "rules_of_thumb": fitting.rules_of_thumb,
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
        return _ANSWERS[claim["id"]](inputs, claim)
    except AbsentError as missing:
        return Answer({}, f"This run cannot tell: it does not hold {missing}.")
