"""PEFT's LoRA, and activation checkpointing as it wants it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from vramfit._step.asked import Asked
from vramfit._step.models import quantised_by
from vramfit.standin._door import StandInError


def lora_of(model: Any, asked: Asked) -> Any:
    """The LoraConfig that is asked for."""
    peft = _peft(model)
    targets: str | list[str] | None = asked.lora_targets
    if isinstance(targets, str) and targets != "all-linear":
        targets = targets.split(",")
    return peft.LoraConfig(
        r=asked.lora, lora_alpha=16, target_modules=targets, task_type="CAUSAL_LM"
    )


def check_trains(model: Any, asked: Asked) -> None:
    """Raises StandInError where nothing is trained over its weights as they are stored: as
    transformers' Trainer does, and of compressed-tensors, whose layers have no weight before their
    first forward, where PEFT looks for it, and no gradient where their inputs are quantised."""
    method = quantised_by(model)
    if method is None:
        return
    if not asked.lora:
        raise StandInError(f"weights quantised by {method} are trained with --lora RANK")
    if not model.hf_quantizer.is_trainable or method == "compressed-tensors":
        raise StandInError(
            f"transformers and PEFT train nothing over weights quantised by {method}: without "
            "quantization_config in its config.json it is trained as it was before"
        )


def adapted(model: Any, asked: Asked) -> Any:
    """With adapters, over frozen weights; quantised ones prepared as PEFT has it. Raises
    StandInError where it names no targets."""
    peft = _peft(model)
    if is_of_bitsandbytes(model):
        model = peft.prepare_model_for_kbit_training(
            model,
            use_gradient_checkpointing=checkpoints(asked),
            gradient_checkpointing_kwargs=checkpointing(asked),
        )
    try:
        return peft.get_peft_model(model, lora_of(model, asked))
    except ValueError as error:
        if asked.lora_targets is None:
            raise StandInError(
                f"lora-targets: PEFT has none of its own for {asked.config['model_type']}; "
                "q_proj,v_proj or all-linear"
            ) from error
        raise StandInError(f"lora-targets: PEFT says, {str(error).splitlines()[0]}") from error


def is_of_bitsandbytes(model: Any) -> bool:
    """Which PEFT prepares for training, and which is on the GPU for good."""
    return quantised_by(model) == "bitsandbytes"


def _peft(model: Any) -> ModuleType:
    """It imports bitsandbytes wherever that is installed, and with it torch's compiler, which takes
    longer than all else of it: without need, it finds none."""
    if not is_of_bitsandbytes(model):
        sys.modules.setdefault("bitsandbytes", None)  # type: ignore[arg-type]
    try:
        return import_module("peft")
    finally:
        if sys.modules.get("bitsandbytes", True) is None:
            del sys.modules["bitsandbytes"]


def checkpoints(asked: Asked) -> bool:
    return asked.checkpoint in ("full", "reentrant")


def checkpointing(asked: Asked) -> dict[str, bool]:
    """gradient_checkpointing_kwargs."""
    return {"use_reentrant": asked.checkpoint == "reentrant"}
