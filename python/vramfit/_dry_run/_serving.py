"""A vLLM engine's accounts beside what it took: its cache, and what its settings have room for."""

from __future__ import annotations

import math
from typing import Any

Json = dict[str, Any]

_DIGITS = 1000  # a utilisation is told to a thousandth of the card


def serving(told: Json | None, stages: list[Json], held: int, ran_out: bool) -> Json | None:
    """As `--json` has it. `told`: what the engine's processes wrote down; `held`: bytes of the card
    by others. None: there was no engine, or it came to nothing that it counts."""
    if told is None or "requested" not in told:
        return None
    used = {
        name: _most(stages, stage, key, told["requested"]) if told.get("ready") else None
        for name, stage, key in (
            ("at_rest", "warm_up", "device_used"),
            ("serving", "serve", "peak_device_used"),
            ("sampling", "sample", "peak_device_used"),
        )
    }
    answer = {
        "cache": None,
        "counted": None,
        "needed": None,
        "longest": None,
        **told,
        "beyond": used,
        "lacks": _lacks(told),
    }
    answer["utilization"] = _utilization(answer, held, ran_out)
    return answer


def _most(stages: list[Json], name: str, key: str, requested: int) -> int | None:
    """That a stage took beyond what was asked for; of a script that trains as well there are
    several of that name."""
    used = [stage[key] for stage in stages if stage["name"] == name]
    return max(used) - requested if used else None


def _lacks(told: Json) -> int | None:
    """Of its first refusal, bytes."""
    if told["refusal"] is None:
        return None
    if "available" in told:
        lacks: int = told.get("needed", 0) - told["available"]
    else:
        lacks = told["requested"] - told["free_at_start"]
    return max(1, lacks)


def _utilization(answer: Json, held: int, ran_out: bool) -> Json:
    """The least that has room for one request of the longest length, and the most that the card has
    room for; None: nobody knows."""
    card = answer["card"]
    least = most = None
    if answer["counted"] is not None and answer["needed"] is not None:
        fixed = answer["requested"] - answer["available"]
        least = math.ceil((fixed + answer["needed"]) / card * _DIGITS) / _DIGITS
    beyond = [bytes_ for bytes_ in answer["beyond"].values() if bytes_ is not None]
    room = answer["free_at_start"]
    if beyond:
        room = min(room, card - held - max(beyond))
    if (beyond and not ran_out) or answer["refusal"] is not None:
        most = math.floor(room / card * _DIGITS) / _DIGITS
    return {"least": least, "most": most}


def text(told: Json) -> str:
    """As `vramfit run` prints it, beneath the stages."""
    settings = told.get("settings", {})
    lines = [_title(told, settings)]
    share = f"{settings['gpu_memory_utilization']:g} of the card" if settings else ""
    lines.append(_row("asked for", told["requested"], share))
    for name, words in _COUNTED.items():
        bytes_ = (told["counted"] or {}).get(name)
        if bytes_:
            lines.append(_row(f"  {words}", bytes_, ""))
    if told["counted"] is not None or told["cache"] is not None:
        lines.append(_row("  KV cache", max(0, told["available"]), _cache(told["cache"])))
    for name, words in _BEYOND.items():
        if told["beyond"][name] is not None:
            lines.append(
                _row(f"beyond that, {name.replace('_', ' ')}", told["beyond"][name], words)
            )
    return "\n".join([*lines, *_limits(told, settings)]) + "\n"


_COUNTED = {
    "weights": "weights",
    "activations": "activations, profiled",
    "outside_torch": "outside of PyTorch",
    "stays": "what else stays",
    "graphs": "CUDA graphs",
}
_BEYOND = {
    "at_rest": "",
    "serving": "",
    "sampling": "by temperature, top-p and top-k",
}


def _title(told: Json, settings: Json) -> str:
    if not settings:
        return "vLLM"
    parts = [f"vLLM {told['version']}", f"model runner {told['runner']}"]
    parts.append("eager" if settings["enforce_eager"] else f"graphs {settings['cuda_graphs']}")
    if settings["tensor_parallel_size"] > 1:
        parts.append(f"tensors over {settings['tensor_parallel_size']} GPUs")
    parts.append(f"{settings['max_num_batched_tokens']:,} tokens a step")
    parts.append(f"{settings['max_num_seqs']:,} requests")
    return ", ".join(parts)


def _row(name: str, bytes_: int, words: str) -> str:
    return f"  {name:<24}{bytes_ / 1e9:>9.2f} GB   {words}".rstrip()


def _cache(cache: Json | None) -> str:
    if cache is None:
        return ""
    return (
        f"{cache['blocks']:,} blocks of {cache['block_size']}: {cache['tokens']:,} tokens, "
        f"{cache['concurrency']:.2f} x {cache['max_model_len']:,}"
    )


def _limits(told: Json, settings: Json) -> list[str]:
    lines = []
    least, most = told["utilization"]["least"], told["utilization"]["most"]
    if least is not None:
        length = settings["max_model_len"]
        lines.append(f"{least:g} has room for a request of {length:,} tokens")
    if most is not None:
        lines.append(f"{most:g} is the most that the card has room for")
    limits = [f"  gpu_memory_utilization: {'; '.join(lines)}"] if lines else []
    if told["longest"]:
        limits.append(f"  max_model_len: {told['longest']:,} at most, of this model and this cache")
    return limits
