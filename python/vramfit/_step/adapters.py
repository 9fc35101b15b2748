"""PEFT's LoRA, and activation checkpointing as it wants it."""

from __future__ import annotations

from typing import Any

from vramfit._step.asked import Asked
from vramfit.standin._door import StandInError


def lora_of(asked: Asked) -> Any:
    """The LoraConfig that is asked for."""
    from peft import LoraConfig

    targets: str | list[str] | None = asked.lora_targets
    if isinstance(targets, str) and targets != "all-linear":
        targets = targets.split(",")
    return LoraConfig(r=asked.lora, lora_alpha=16, target_modules=targets, task_type="CAUSAL_LM")


def adapted(model: Any, asked: Asked) -> Any:
    """With adapters, over frozen weights; quantised ones prepared as PEFT has it. Raises
    StandInError where it names no targets."""
    from peft import get_peft_model, prepare_model_for_kbit_training

    if asked.quant:
        model = prepare_model_for_kbit_training(
            model,
            use_gradient_checkpointing=checkpoints(asked),
            gradient_checkpointing_kwargs=checkpointing(asked),
        )
    try:
        return get_peft_model(model, lora_of(asked))
    except ValueError as error:
        if asked.lora_targets is None:
            raise StandInError(
                f"lora-targets: PEFT has none of its own for {asked.config['model_type']}; "
                "q_proj,v_proj or all-linear"
            ) from error
        raise StandInError(f"lora-targets: PEFT says, {str(error).splitlines()[0]}") from error


def checkpoints(asked: Asked) -> bool:
    return asked.checkpoint in ("full", "reentrant")


def checkpointing(asked: Asked) -> dict[str, bool]:
    """gradient_checkpointing_kwargs."""
    return {"use_reentrant": asked.checkpoint == "reentrant"}
