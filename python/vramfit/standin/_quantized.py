"""What the files of a quantized checkpoint hold, by its config: of each weight that its method
changes the tensors that lie there in its place.

A weight is (out, in) of a linear layer, or of an expert's. The methods' own packings: GPTQ and AWQ
(as AutoGPTQ and AutoAWQ write them), compressed-tensors (_compressed.py), FP8 (transformers'
FP8Linear; without blocks AutoFP8's quantize.py), MXFP4 of gpt-oss (OCP Microscaling 1.0, blocks of
32), bitsandbytes (QuantState.as_dict).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from vramfit.standin._compressed import SHAPE, compressed
from vramfit.standin._safetensors import Stored, Tensors

Json = dict[str, Any]
# Of a module and its weight: by what follows the module's name; None where it stays as it is.
_Layout = Callable[[str, Stored], Tensors | None]


def quantized(tensors: Tensors, quantization: Json, is_linear: Callable[[str], bool]) -> Tensors:
    """`tensors` of the checkpoint before it was quantized; `is_linear` is asked of modules, by
    the names that they have there, and is false of those that no method changes, such as the head.

    Raises KeyError, with what is not known, where its config does not tell what its files hold.
    """
    method = _name(quantization)
    made = _mxfp4(tensors) if method == "mxfp4" else _by_layout(tensors, quantization, is_linear)
    if made.keys() == tensors.keys():
        raise KeyError(f"none of its weights is one that {method} changes")
    return made


def _by_layout(tensors: Tensors, quantization: Json, is_linear: Callable[[str], bool]) -> Tensors:
    layout = _METHODS[_name(quantization)](quantization)
    made: Tensors = {}
    for name, tensor in tensors.items():
        module, _, kind = name.rpartition(".")
        if ".experts." in name and len(tensor.shape) == 3 and changes_experts(quantization):
            raise KeyError(f"{name} has all experts of a layer")
        is_weight = kind == "weight" and len(tensor.shape) == 2 and is_linear(module)
        parts = layout(module, tensor) if is_weight else None
        if parts is None:
            made[name] = tensor
        else:
            made |= {f"{module}.{part}": packed for part, packed in parts.items()}
    return made


def is_read(tensor: str) -> bool:
    """Whether loaders look at the numbers of a file's tensor of that name, to know how others are
    kept."""
    return tensor.endswith(f".{SHAPE}") or f".{_STATE}." in tensor


def _name(quantization: Json) -> str:
    method = str(quantization.get("quant_method", ""))
    if method == "bitsandbytes":
        return f"{method} 8 bits" if quantization.get("load_in_8bit") else f"{method} 4 bits"
    return method


def skipped(quantization: Json) -> list[str]:
    """Modules that its config says it left alone: names, parts of them, and patterns."""
    keys = ("modules_to_not_convert", "llm_int8_skip_modules", "ignored_layers")
    return [name for key in keys for name in quantization.get(key) or ()]


def changes_experts(quantization: Json) -> bool:
    """Whether its method changes experts whose layer is no module of its own. Transformers keeps
    those of a layer in one tensor, which is no module's weight."""
    return quantization.get("quant_method") != "bitsandbytes"


def tells_of_the_head(quantization: Json) -> bool:
    """Whether its config says if the head was quantized; else it was not."""
    method = quantization.get("quant_method")
    if method == "gptq":
        return bool(quantization.get("lm_head"))
    return method == "compressed-tensors" or (method != "awq" and bool(skipped(quantization)))


def _knows(told: Json, key: str, *values: Any) -> None:
    """Raises KeyError where its config says something else than these, by which its files are laid
    out in another way."""
    if told.get(key) is not None and told[key] not in values:
        raise KeyError(f"{key} {told[key]!r}")


def _gptq(told: Json) -> _Layout:
    _knows(told, "checkpoint_format", "gptq", "gptq_v2")
    _knows(told, "is_marlin_format", False)

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
    # Its older and newer name; of backends, which are kernels, one writes files of its own.
    version = str(told.get("version") or told.get("format") or "gemm").lower()
    if version != "gemm" or told.get("backend") == "llm-awq":
        raise KeyError(f"version {version!r}, backend {told.get('backend')!r}")

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
    _knows(told, "modules_to_convert", [])
    is_static = told.get("activation_scheme", "dynamic") == "static"
    if "weight_block_size" not in told:
        return _auto_fp8(is_static)
    block = told["weight_block_size"]

    def layout(_: str, weight: Stored) -> Tensors:
        scale = (
            tuple(-(-size // of) for size, of in zip(weight.shape, block, strict=True))
            if block
            else ()
        )
        made = {
            "weight": Stored("F8_E4M3", weight.shape),
            "weight_scale_inv": Stored("F32", scale),
        }
        if is_static:
            made["activation_scale"] = Stored("F32", ())
        return made

    return layout


def _auto_fp8(is_static: bool) -> _Layout:
    """Of whoever writes no weight_block_size: transformers always does."""

    def layout(_: str, weight: Stored) -> Tensors:
        made = {"weight": Stored("F8_E4M3", weight.shape), "weight_scale": Stored("F32", ())}
        if is_static:
            made["input_scale"] = Stored("F32", ())
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
        made[f"weight.{_STATE}.bitsandbytes__{kind}"] = Stored("U8", (len(text),), text)
        return made

    return layout


_STATE = "quant_state"  # a text, which loaders read
_BNB_BLOCK, _BNB_NESTED_BLOCK = 64, 256
_TORCH_NAMES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
# Two weights a byte, in a column of what they are kept as.
_BNB_STORAGE: dict[str, Callable[[int], tuple[str, tuple[int, int]]]] = {
    "uint8": lambda count: ("U8", (-(-count // 2), 1)),
    "bfloat16": lambda count: ("BF16", (-(-count // 4), 1)),
    "float16": lambda count: ("F16", (-(-count // 4), 1)),
    "float32": lambda count: ("F32", (-(-count // 8), 1)),
}


_METHODS: dict[str, Callable[[Json], _Layout]] = {
    "gptq": _gptq,
    "awq": _awq,
    "fp8": _fp8,
    "compressed-tensors": compressed,
    "bitsandbytes 4 bits": _bitsandbytes_4,
    "bitsandbytes 8 bits": _bitsandbytes_8,
}
