"""PyTorch's own share of a card, as data/gpus.json keeps it, read off two recorded cases.

What the card has lost beyond what the allocator reserves grows as code and handles are loaded. A
step without fused attention shows what cuBLAS takes, and, on the thread of its own that backward
runs on, again; a step with fused attention in 16 bits shows the same and attention's own kernels.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pytorch.cases import Case, beyond_allocator

_STAGES = ("step1.forward", "step1.backward")


def shows(setting: Mapping[str, Any]) -> str:
    """Which of the two steps a case is one of: "eager", "fused" or neither, ""."""
    other = {"amp", "lora", "ckpt", "accum", "compile", "quant", "pretrained"} & setting.keys()
    if setting["mode"] != "train" or setting["dtype"] == "fp32" or other:
        return ""
    return "eager" if setting.get("attn") == "eager" else "fused"


def smallest_two(cases: Iterable[Case]) -> list[Case]:
    """One of each, as few bytes as there are."""
    found: dict[str, Case] = {}
    for case in sorted(cases, key=lambda case: case.taken):
        if not case.more and (kind := shows(case.setting)):
            found.setdefault(kind, case)
    return list(found.values())


def _beyond(result: Mapping[str, Any]) -> tuple[int, int, int]:
    """At the context, after forward and after backward. Throws KeyError where it did not end."""
    readings = [result["context"], *(result["stages"][stage] for stage in _STAGES)]
    context, forward, backward = map(beyond_allocator, readings)
    return context, forward, backward


def overhead(
    lines: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Each part with its source; {} where the two steps are not among the lines."""
    found: dict[str, tuple[int, int, int]] = {}
    for line in lines:
        kind = shows(line["case"])
        if kind and "stages" in line["result"]:
            found.setdefault(kind, _beyond(line["result"]))
    if found.keys() != {"eager", "fused"}:
        return {}
    (context, eager, eager_backward), (_, fused, fused_backward) = found["eager"], found["fused"]
    cublas, cublas_backward = eager - context, eager_backward - eager
    parts = {
        "context": (context, "after one tiny tensor: context and PyTorch's own kernels"),
        "cublas": (cublas, "more after a forward without fused attention"),
        "cublas_backward": (cublas_backward, "more after its backward"),
        "attention": (fused - eager, "more in a forward with fused attention in 16 bits"),
        "attention_backward": (
            fused_backward - fused - cublas_backward,
            "more in its backward",
        ),
    }
    where = f"measured on one {facts['gpu']}, driver {facts['driver']}, PyTorch {facts['torch']}"
    return {
        part: {"bytes": size, "source": f"{where}, device_used less reserved: {words}"}
        for part, (size, words) in parts.items()
    }
