"""What the files of a quantized checkpoint hold, by its config: of each weight that its method
changes the tensors that lie there in its place.

A weight is (out, in) of a linear layer, or of an expert's. The methods' own packings: GPTQ and AWQ
(as AutoGPTQ and AutoAWQ write them), compressed-tensors (its compressors and
quantization/lifecycle/initialize.py), fine-grained FP8 (transformers, FP8Linear), MXFP4 of gpt-oss
(OCP Microscaling 1.0, blocks of 32), bitsandbytes (QuantState.as_dict).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from vramfit.standin._safetensors import Stored, Tensors

Json = dict[str, Any]
# Of a module and its weight: by what follows the module's name; None where it stays as it is.
_Layout = Callable[[str, Stored], Tensors | None]


def quantized(tensors: Tensors, quantization: Json, is_linear: Callable[[str], bool]) -> Tensors:
    """`tensors` of the checkpoint before it was quantized; `is_linear` is asked of modules, by
    the names that they have there, and is false of those that no method changes, such as the head.

    Raises KeyError, with the method's name, where what its files hold is not known.
    """
    method = _name(quantization)
    if method == "mxfp4":
        return _mxfp4(tensors)
    layout = _METHODS[method](quantization)
    made: Tensors = {}
    for name, tensor in tensors.items():
        module, _, kind = name.rpartition(".")
        is_weight = kind == "weight" and len(tensor.shape) == 2 and is_linear(module)
        parts = layout(module, tensor) if is_weight else None
        if parts is None:
            made[name] = tensor
        else:
            made |= {f"{module}.{part}": packed for part, packed in parts.items()}
    return made


def _name(quantization: Json) -> str:
    method = str(quantization.get("quant_method", ""))
    if method == "bitsandbytes":
        return f"{method} 8 bits" if quantization.get("load_in_8bit") else f"{method} 4 bits"
    return method


def skipped(quantization: Json) -> list[str]:
    """Modules that its config says it left alone: names, parts of them, and patterns."""
    keys = ("modules_to_not_convert", "llm_int8_skip_modules")
    return [name for key in keys for name in quantization.get(key) or ()]


def tells_of_the_head(quantization: Json) -> bool:
    """Whether its config says if the head was quantized; else it was not."""
    method = quantization.get("quant_method")
    if method == "gptq":
        return bool(quantization.get("lm_head"))
    return method == "compressed-tensors" or (method != "awq" and bool(skipped(quantization)))


def _gptq(told: Json) -> _Layout:
    def layout(module: str, weight: Stored) -> Tensors | None:
        bits, group = int(told["bits"]), int(told.get("group_size", -1))
        for pattern, other in (told.get("dynamic") or {}).items():  # first match, as GPTQModel's
            if re.match(pattern.removeprefix("+:").removeprefix("-:"), module):
                if pattern.startswith("-:"):
                    return None
                bits = int(other.get("bits", bits))
                group = int(other.get("group_size", group))
                break
        outs, ins = weight.shape
        groups = -(-ins // group) if group > 0 else 1
        return {
            "qweight": Stored("I32", (ins * bits // 32, outs)),
            "qzeros": Stored("I32", (groups, outs * bits // 32)),
            "scales": Stored(weight.dtype, (groups, outs)),
            "g_idx": Stored("I32", (ins,)),
        }

    return layout


def _awq(told: Json) -> _Layout:
    def layout(_: str, weight: Stored) -> Tensors:
        outs, ins = weight.shape
        packed = outs * int(told.get("bits") or told.get("w_bit") or 4) // 32
        group = int(told.get("group_size") or told.get("q_group_size") or 128)
        groups = ins // group if group > 0 else 1
        return {
            "qweight": Stored("I32", (ins, packed)),
            "qzeros": Stored("I32", (groups, packed)),
            "scales": Stored(weight.dtype, (groups, outs)),
        }

    return layout


def _fp8(told: Json) -> _Layout:
    def layout(_: str, weight: Stored) -> Tensors:
        block = told.get("weight_block_size", [128, 128])
        scale = (
            tuple(-(-size // of) for size, of in zip(weight.shape, block, strict=True))
            if block
            else ()
        )
        made = {
            "weight": Stored("F8_E4M3", weight.shape),
            "weight_scale_inv": Stored("F32", scale),
        }
        if told.get("activation_scheme", "dynamic") == "static":
            made["activation_scale"] = Stored("F32", ())
        return made

    return layout


def _mxfp4(tensors: Tensors) -> Tensors:
    """Experts alone, which are (experts, in, out) before."""
    made: Tensors = {}
    for name, tensor in tensors.items():
        if re.search(r"\.experts\.(gate_up|down)_proj$", name):
            experts, ins, outs = tensor.shape
            made[f"{name}_blocks"] = Stored("U8", (experts, outs, ins // 32, 16))
            made[f"{name}_scales"] = Stored("U8", (experts, outs, ins // 32))
        else:
            made[name] = tensor
    return made


def _bitsandbytes_8(_: Json) -> _Layout:
    def layout(_: str, weight: Stored) -> Tensors:
        return {
            "weight": Stored("I8", weight.shape),
            "SCB": Stored("F32", weight.shape[:1]),
            "weight_format": Stored("U8", (), bytes(1)),  # row-major
        }

    return layout


def _bitsandbytes_4(told: Json) -> _Layout:
    def layout(_: str, weight: Stored) -> Tensors:
        kind = told.get("bnb_4bit_quant_type", "fp4")
        nested = told.get("bnb_4bit_use_double_quant", False)
        outs, ins = weight.shape
        blocks = -(-outs * ins // _BNB_BLOCK)
        made = {
            "weight": Stored(
                *_BNB_STORAGE[told.get("bnb_4bit_quant_storage", "uint8")](outs * ins)
            ),
            "weight.absmax": Stored("U8" if nested else "F32", (blocks,)),
            "weight.quant_map": Stored("F32", (16,)),
        }
        state: Json = {
            "quant_type": kind,
            "blocksize": _BNB_BLOCK,
            "dtype": _TORCH_NAMES[weight.dtype],
            "shape": [outs, ins],
        }
        if nested:
            made["weight.nested_absmax"] = Stored("F32", (-(-blocks // _BNB_NESTED_BLOCK),))
            made["weight.nested_quant_map"] = Stored("F32", (256,))
            state |= {
                "nested_blocksize": _BNB_NESTED_BLOCK,
                "nested_dtype": "float32",
                "nested_offset": 0.0,
            }
        text = json.dumps(state).encode()
        made[f"weight.quant_state.bitsandbytes__{kind}"] = Stored("U8", (len(text),), text)
        return made

    return layout


_BNB_BLOCK, _BNB_NESTED_BLOCK = 64, 256
_TORCH_NAMES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
# Two weights a byte, in a column of what they are kept as.
_BNB_STORAGE: dict[str, Callable[[int], tuple[str, tuple[int, int]]]] = {
    "uint8": lambda count: ("U8", (-(-count // 2), 1)),
    "bfloat16": lambda count: ("BF16", (-(-count // 4), 1)),
    "float16": lambda count: ("F16", (-(-count // 4), 1)),
    "float32": lambda count: ("F32", (-(-count // 8), 1)),
}


def _compressed(told: Json) -> _Layout:
    groups = (told.get("config_groups") or {}).values()

    def layout(module: str, weight: Stored) -> Tensors | None:
        if any(_names(module, ignored) for ignored in told.get("ignore") or ()):
            return None
        for group in groups:
            if any(_names(module, target) for target in group["targets"]):
                return _compressed_weight(weight, group, group.get("format") or told["format"])
        return None

    return layout


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
    made: Tensors = {"weight_scale": Stored(_SCALES.get(format_, weight.dtype), scales)}
    if format_ == "pack-quantized":
        shape = b"".join(size.to_bytes(8, "little") for size in weight.shape)
        held = 32 // bits
        made["weight_packed"] = Stored("I32", (outs, -(-ins // held)))
        made["weight_shape"] = Stored("I64", (2,), shape)
        if not of.get("symmetric", True):
            made["weight_zero_point"] = Stored("I32", (-(-outs // held), scales[-1]))
        if of.get("actorder") == "group":
            made["weight_g_idx"] = Stored("I32", (ins,))
    elif format_ in ("nvfp4-pack-quantized", "mxfp4-pack-quantized"):
        made["weight_packed"] = Stored("U8", (outs, ins // 2))
    else:
        made["weight"] = Stored("F8_E4M3" if of["type"] == "float" else "I8", weight.shape)
        if not of.get("symmetric", True):
            made["weight_zero_point"] = Stored("I8", scales)
    if format_ == "nvfp4-pack-quantized":
        made["weight_global_scale"] = Stored("F32", (1,))
        if inputs.get("strategy") == "tensor_group":
            made["input_global_scale"] = Stored("F32", (1,))
    elif inputs and not inputs.get("dynamic", False):
        made["input_scale"] = Stored(weight.dtype, (1,))
    return made


_SCALES = {"nvfp4-pack-quantized": "F8_E4M3", "mxfp4-pack-quantized": "U8"}

_METHODS: dict[str, Callable[[Json], _Layout]] = {
    "gptq": _gptq,
    "awq": _awq,
    "fp8": _fp8,
    "compressed-tensors": _compressed,
    "bitsandbytes 4 bits": _bitsandbytes_4,
    "bitsandbytes 8 bits": _bitsandbytes_8,
}
