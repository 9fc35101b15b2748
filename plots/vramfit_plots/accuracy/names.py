"""A name for each measured case of PyTorch, from what was asked of it alone. Needs Python alone.

    PyTorch/train/llama2-7b/bf16/adamw_fused/batch:4/seq:512/checkpoint:full

A case keeps its name from one release to the next, and from one file to another."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

FAMILY = "PyTorch"
_USUAL_TARGETS = ["q_proj", "v_proj"]


def of_more(source: str) -> bool:
    """Whether measure_pytorch_more.py wrote the file, whose name without its ending is `source`. It
    builds models and draws prompts in other ways, so that its cases are others."""
    return "more" in re.split("[_-]", source)


def of_companions(source: str) -> bool:
    """Whether measure_pytorch_companions.py wrote it: adapters, loaders, compilers, models that see
    and others that `fit` cannot be asked about; `vramfit run` is."""
    return source.endswith("companions")


def _extras(case: Mapping[str, Any], more: bool) -> Iterator[str]:
    """What is not as usual, `key:value` each."""
    for key, name in (("attn", "attn"), ("amp", "autocast"), ("quant", "quant")):
        if case.get(key, "sdpa") != "sdpa":
            yield f"{name}:{case[key]}"
    for key, name in (("accum", "accumulate"), ("new_tokens", "generate")):
        if case.get(key, 1) != 1:
            yield f"{name}:{case[key]}"
    if case.get("ckpt"):
        yield "checkpoint:full"
    if lora := case.get("lora"):
        yield f"lora:{lora['r']}"
        if lora["targets"] != _USUAL_TARGETS:
            yield f"targets:{','.join(lora['targets'])}"
    if case.get("pretrained"):
        yield "from:pretrained"
    if case.get("compile"):
        yield "compile:default"
    for key, value in sorted(case.get("gen", {}).items()):
        yield f"{key}:{value}"
    yield from _of_several_gpus(case)
    if case.get("cap_mib"):
        yield f"cap_mib:{case['cap_mib']}"
    if more:
        yield "by:more"


def _of_several_gpus(case: Mapping[str, Any]) -> Iterator[str]:
    for key, name in (("strategy", "strategy"), ("gpus", "gpus"), ("mixed", "mixed-precision")):
        if case.get(key):
            yield f"{name}:{case[key]}"


def row_name(case: Mapping[str, Any], batch: int | None, seq: int, *, more: bool) -> str:
    """`case` as measure_pytorch.py is given it; of an inference, one of its points. No batch: the
    largest was searched for."""
    parts = [FAMILY, case["mode"], case["model"], case["dtype"]]
    parts += [case["opt"]] if case["mode"] != "infer" else []
    parts += [f"batch:{batch}"] if batch is not None else []
    return "/".join([*parts, f"seq:{seq}", *_extras(case, more)])


def row_names(case: Mapping[str, Any], *, more: bool) -> list[str]:
    """Of a whole case: each point of an inference has a row of its own."""
    points = case["points"] if case["mode"] == "infer" else [[case.get("b"), case["s"]]]
    return [row_name(case, batch, seq, more=more) for batch, seq in points]
