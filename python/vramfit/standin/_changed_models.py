"""Changes of transformers' models, made to each that is there before a forward of training."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch

from vramfit.standin._changed_arguments import Note, in_arguments, turned_on
from vramfit.standin._events import before_forward
from vramfit.standin._imports import when_imported


class _Models:
    """Those that were made, each with those inside it."""

    def __init__(self) -> None:
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        when_imported("transformers.modeling_utils", self._attend)

    def _attend(self, module: Any) -> None:
        make = module.PreTrainedModel.__init__

        @functools.wraps(make)
        def made(model: Any, *args: Any, **kwargs: Any) -> None:
            make(model, *args, **kwargs)
            self._made.add(model)

        module.PreTrainedModel.__init__ = made

    def in_training(self) -> list[Any]:
        """Whose forward now would be one of training, the outermost first."""
        if not torch.is_grad_enabled():
            return []
        trained = [
            model
            for model in self._made
            if model.training and any(each.requires_grad for each in model.parameters())
        ]
        return sorted(trained, key=lambda model: len(list(model.modules())), reverse=True)


@functools.cache
def _models() -> _Models:
    return _Models()


def _before_training(change: Callable[[Any], bool], note: Note, line: str) -> None:
    """`change` tells whether there was something to change of a model."""
    models = _models()

    def look(_: torch.nn.Module) -> None:
        for model in models.in_training():
            if change(model):
                note(line)

    before_forward.append(look)


def checkpointing(note: Note) -> None:
    """Layers keep their inputs alone, and are computed again in backward."""

    def change(model: Any) -> bool:
        if not model.supports_gradient_checkpointing or model.is_gradient_checkpointing:
            return False
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return True

    in_arguments(turned_on("gradient_checkpointing"), note)
    line = 'model.gradient_checkpointing_enable({"use_reentrant": False})'
    _before_training(change, note, line)


def no_cache(note: Note) -> None:
    """Keys and values of training are kept for nobody."""

    def change(model: Any) -> bool:
        if not getattr(model.config, "use_cache", False):
            return False
        model.config.use_cache = False
        return True

    _before_training(change, note, "model.config.use_cache = False")


def fused_loss(note: Note) -> None:
    """Liger's kernels: the loss is computed in chunks of logits, which are never there whole."""
    done: weakref.WeakSet[Any] = weakref.WeakSet()
    by_trainer = False

    def in_trainer(line: str) -> None:
        nonlocal by_trainer
        by_trainer = True
        note(line)

    def change(model: Any) -> bool:
        from liger_kernel.transformers import _apply_liger_kernel_to_instance
        from liger_kernel.transformers.monkey_patch import MODEL_TYPE_TO_APPLY_LIGER_FN

        # The first to be met is the outermost, and the one that has a loss.
        if (
            by_trainer
            or model in done
            or model.config.model_type not in MODEL_TYPE_TO_APPLY_LIGER_FN
        ):
            return False
        done.update(each for each in model.modules() if hasattr(each, "config"))
        _apply_liger_kernel_to_instance(model=model)
        return True

    in_arguments(turned_on("use_liger_kernel"), in_trainer)
    line = "liger_kernel.transformers._apply_liger_kernel_to_instance(model=model)"
    _before_training(change, note, line)
