"""What an answer says of the step: lines under its title, and notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vramfit._step.asked import Asked

Json = dict[str, Any]

_PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_TRAINERS = {"trainer": "transformers' Trainer", "trl": "TRL's SFTTrainer"}


def about(name: str, asked: Asked, facts: Json) -> list[str]:
    """The model, what it does, and the largest batch; nothing where it was never built."""
    if not facts:
        return []
    lines = [f"{name}: {facts['parameters']:,} parameters", ", ".join(_does(asked, facts))]
    if asked.max_batch and "max_batch" in facts:
        largest, count = facts["max_batch"], len(facts["tried"])
        lines.append(
            f"largest batch that completes: {largest} ({largest + 1} does not); {count} were tried"
        )
    return lines


def _does(asked: Asked, facts: Json) -> Iterator[str]:
    precision = asked.quant or _PRECISIONS.get(facts["precision"], facts["precision"])
    if facts["quantised_by"] and not asked.quant:
        precision = f"{precision} over weights stored by {facts['quantised_by']}"
    if asked.train:
        optimizer = facts.get("optimizer", asked.optimizer or "adamw-fused")
        by = f" by {_TRAINERS[asked.trainer]}" if asked.trainer in _TRAINERS else ""
        yield f"training{by} in {precision} with {optimizer}"
    else:
        yield f"{asked.generate} new token{'s' * (asked.generate > 1)} in {precision}"
    batch = max(facts.get("max_batch", asked.batch), 1)
    times = f"{asked.accumulate} micro-batches of " if asked.accumulate > 1 else ""
    yield f"batch {times}{batch} x {facts['seq']} tokens"
    yield f"{facts['attention']} attention"
    autocast = facts.get("autocast", asked.autocast)
    if autocast:
        yield f"autocast to {autocast}"
    if facts.get("checkpoint", asked.checkpoint not in (None, "none")):
        yield "activation checkpointing"
    if asked.lora:
        yield f"LoRA of rank {asked.lora}"
    if asked.compile:
        yield "compiled"


def notes(asked: Asked, facts: Json, passed_over: list[str]) -> list[str]:
    """What was taken otherwise than a reader may expect."""
    lines = []
    stored = asked.config.get("quantization_config")
    if stored and facts and not facts["quantised_by"]:
        lines.append(
            f"its files hold weights in {stored.get('quant_method')}, which transformers unpacked "
            "as it read them"
        )
    positions = facts.get("positions")
    if positions and facts["seq"] > positions:
        lines.append(f"{facts['seq']:,} tokens are more than the {positions:,} positions it has")
    if passed_over:
        flags = ", ".join(f"--{flag}" for flag in passed_over)
        lines.append(f"passed over, as memory does not depend on it: {flags}")
    return lines
