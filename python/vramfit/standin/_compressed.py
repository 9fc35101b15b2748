"""What compressed-tensors' files hold of a weight, by their config: as its compressors write it,
with the parameters that quantization/lifecycle/initialize.py gives a module.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from vramfit.standin._safetensors import Stored, Tensors

Json = dict[str, Any]

SHAPE = "weight_shape"  # a weight's before it was packed, whose numbers loaders read
_PACKED = "pack-quantized"
_FP4 = {"nvfp4-pack-quantized": "F8_E4M3", "mxfp4-pack-quantized": "U8"}  # with its scales' type
_EIGHT_BITS = ("float-quantized", "int-quantized", "naive-quantized")


def compressed(told: Json) -> Callable[[str, Stored], Tensors | None]:
    """Of a module and its weight: the tensors that lie in its place, by what follows the module's
    name; None where it stays as it is."""
    groups = {
        target: group
        for group in (told.get("config_groups") or {}).values()
        for target in group["targets"]
    }
    if (told.get("sparsity_config") or {}).get("format", "dense") != "dense":
        raise KeyError("sparsity_config")

    def layout(module: str, weight: Stored) -> Tensors | None:
        if any(_names(module, ignored) for ignored in told.get("ignore") or ()):
            return None
        group = _first(groups, module)
        if group is None:
            return None
        return _compressed_weight(weight, group, group.get("format") or told["format"])

    return layout


def _first(groups: dict[str, Json], module: str) -> Json | None:
    """By targets: a module's own name comes before patterns, and those before all that is linear
    (compressed_tensors.utils.match_targets)."""
    targets = [target for target in groups if _names(module, target)]
    targets.sort(key=lambda target: (target == "Linear", target.startswith("re:"), target))
    return groups[targets[0]] if targets else None


def _names(module: str, target: str) -> bool:
    """As compressed_tensors.utils.match does it; all that is asked of is linear."""
    if target.startswith("re:"):
        return re.match(target.removeprefix("re:"), module) is not None
    return target in ("Linear", module)


def _compressed_weight(weight: Stored, group: Json, format_: str) -> Tensors:
    of, inputs = group["weights"], group.get("input_activations") or {}
    bits = of["num_bits"]
    outs, ins = weight.shape
    scales = {
        "tensor": (1,),
        "channel": (outs, 1),
        "group": (outs, -(-ins // (of.get("group_size") or 1))),
        "tensor_group": (outs, -(-ins // (of.get("group_size") or 16))),
        "block": tuple(
            -(-size // block)
            for size, block in zip(weight.shape, of.get("block_structure") or (1, 1), strict=True)
        ),
    }[of["strategy"]]
    made: Tensors = {"weight_scale": Stored(_FP4.get(format_, weight.dtype), scales)}
    if format_ == _PACKED:
        shape = b"".join(size.to_bytes(8, "little") for size in weight.shape)
        held = 32 // bits
        made["weight_packed"] = Stored("I32", (outs, -(-ins // held)))
        made[SHAPE] = Stored("I64", (2,), shape)
        if not of.get("symmetric", True):
            made["weight_zero_point"] = Stored("I32", (-(-outs // held), scales[-1]))
        if of.get("actorder") == "group":
            made["weight_g_idx"] = Stored("I32", (ins,))
    elif format_ in _FP4:
        made["weight_packed"] = Stored("U8", (outs, ins // 2))
    elif format_ in _EIGHT_BITS:
        made["weight"] = Stored("F8_E4M3" if of["type"] == "float" else "I8", weight.shape)
        if not of.get("symmetric", True):
            made["weight_zero_point"] = Stored("I8", scales)
    else:
        raise KeyError(format_)
    if format_ == "nvfp4-pack-quantized":
        made["weight_global_scale"] = Stored("F32", (1,))
        if inputs.get("strategy") == "tensor_group":
            made["input_global_scale"] = Stored("F32", (1,))
    elif inputs and not inputs.get("dynamic", False):
        made["input_scale"] = Stored(weight.dtype, (1,))
    return made
