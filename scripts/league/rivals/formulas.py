"""Closed forms beside those of vramfit_plots.accuracy.rivals: as their sources have them, for one
GPU or several alike, each for what it speaks of. Written down anew from the sources that are named;
no code of theirs is here. Bytes."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from vramfit_plots.accuracy.cases import Case

from league.rivals.shapes import Shape, shape_of

_MIB = 1 << 20


@dataclass(frozen=True)
class Said:
    tensors: float  # to be held against what was allocated
    total: float  # against a card


@dataclass(frozen=True)
class Rule:
    key: str
    speaks_of: Callable[[Case], bool]
    say: Callable[[Case, int], Said]  # the model's parameters, too


def _full(case: Case) -> bool:
    return case.training and "lora" not in case.setting and case.batch is not None


def _adam(case: Case) -> bool:
    return _full(case) and case.setting["opt"].startswith("adamw") and case.usual_states


def _alike(said: float) -> Said:
    return Said(said, said)


def _sharded(case: Case) -> bool:
    return case.gpus == 1 or case.setting["strategy"].startswith("fsdp")


def _zero3(case: Case, parameters: int) -> Said:
    """estimate_zero3_model_states_mem_needs without offload: 18 bytes a parameter, shared, and the
    largest layer in fp32."""
    largest = shape_of(case.setting["arch"]).largest_matrix
    return _alike(4 * largest + 18 * parameters // case.gpus)


def _megatron_parameters(shape: Shape) -> float:
    norm = 2 if shape.layer_norm else 1
    gate = 3 / 2 if shape.gated else 1
    hidden = shape.hidden
    wide = shape.head_dim * shape.heads / hidden
    attention = 2 * hidden**2 * (1 + shape.kv_heads / shape.heads) * wide
    layer = 2 * hidden * (shape.inner * gate + norm) + attention
    padded = -(-shape.vocabulary // 128) * 128  # --make-vocab-size-divisible-by's default
    embeddings = (1 if shape.tied else 2) * hidden * padded
    return shape.layers * layer + norm * hidden + embeddings


def _megatron(case: Case, _: int) -> Said:
    """report_theoretical_memory on one GPU, which has no sequence parallelism: 18 bytes a
    parameter, and compute_activation_memory_without_sp."""
    shape = shape_of(case.setting["arch"])
    tokens = case.seq * (case.batch or 0)
    padded = -(-shape.vocabulary // 128) * 128
    kept = tokens * shape.hidden * (10 + 24) * shape.layers + 8 * tokens + tokens * shape.hidden
    kept += 2 * tokens * (padded + shape.hidden)
    return _alike(18 * _megatron_parameters(shape) + 1.05 * kept)


# gpu_poor knows one width of numbers, 2 bytes, and adds for context and libraries:
_GPU_POOR_OVERHEAD = 650 * _MIB


def _gpu_poor_parameters(shape: Shape) -> int:
    blocks = 4 * shape.hidden**2 + 3 * shape.inner * shape.hidden
    return 2 * shape.vocabulary * shape.hidden + shape.layers * blocks


def _gpu_poor_activations(shape: Shape, seq: int, batch: int) -> float:
    attention = seq * shape.hidden * 8 * 2 + seq**2 * shape.heads * (2 + 4 + 2)
    feed_forward = 2 * seq * shape.hidden * 2 + 6 * seq * shape.inner * 2
    norms = seq * 8 + 6 * seq * shape.hidden * 2
    return (attention + feed_forward + norms) * shape.layers * batch


def _gpu_poor_training(case: Case) -> float:
    shape, batch = shape_of(case.setting["arch"]), case.batch or 0
    count = _gpu_poor_parameters(shape)
    activations = _gpu_poor_activations(shape, case.seq, batch)
    if "ckpt" in case.setting:
        activations *= 0.15
    adapters = shape.layers * 8 * shape.hidden
    if case.setting.get("quant"):  # QLoRA
        weights = count * 2 / 4 - count * 2 / 64 + 0.06 * count * 2
        common = (15 * shape.hidden + 6 * shape.inner) * shape.layers
        extra = 0.75 * common * 50 * max(1.0, math.sqrt(case.seq / 50))
        return weights + adapters * 0.5 * 4 * 3 + extra * batch + activations
    if "lora" in case.setting:
        return 2 * count + adapters * 2 * 4 * 3 * 2 + activations
    states = 3 if case.setting["opt"].startswith("adamw") else 1
    return 2 * count + 2 * states * count + activations


def _gpu_poor_generation(case: Case) -> float:
    shape = shape_of(case.setting["arch"])
    length = case.seq + case.new_tokens
    cache = 2 * length * 2 * 2 * shape.hidden * shape.layers
    activations = length * shape.hidden * 5 * 2 + length**2 * shape.heads * 2
    return 2 * _gpu_poor_parameters(shape) + cache + activations


def _gpu_poor(case: Case, _: int) -> Said:
    tensors = _gpu_poor_training(case) if case.training else _gpu_poor_generation(case)
    return Said(tensors, math.ceil((tensors + _GPU_POOR_OVERHEAD) / _MIB) * _MIB)


def _gpu_poor_speaks(case: Case) -> bool:
    """It has no fp32, no momentum, no batch in inference, and of 8 and 4 bits bitsandbytes' names
    with other meanings: QLoRA is the one that is spoken of."""
    setting = case.setting
    if setting["dtype"] == "fp32" or case.batch is None or case.gpus > 1:
        return False
    if not case.training:
        return case.batch == 1 and not setting.get("quant")
    if setting.get("quant"):
        return "lora" in setting and setting["quant"].startswith("nf4") and case.usual_states
    if "lora" in setting:
        return setting["opt"].startswith("adamw") and case.usual_states
    return case.usual_states and setting["opt"] != "sgdm"


RULES = (
    Rule("deepspeed-zero3", lambda case: _adam(case) and _sharded(case), _zero3),
    Rule(
        "megatron",
        lambda case: _adam(case) and "ckpt" not in case.setting and case.gpus == 1,
        _megatron,
    ),
    Rule("gpu-poor", _gpu_poor_speaks, _gpu_poor),
)
