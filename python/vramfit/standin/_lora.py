"""PEFT's LoRA around each of transformers' models that the script makes or loads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from vramfit.standin._changed_arguments import Note
from vramfit.standin._imports import when_imported

_RANK = 16


def lora(note: Note) -> None:
    """A model comes back as PEFT's, all of it frozen but the adapters."""
    when_imported("transformers.modeling_utils", _Adapting(note).attend)


class _Adapting:
    def __init__(self, note: Note) -> None:
        self._note = note
        self._deep = 0  # models are made inside of models, and while one is loaded

    def attend(self, module: Any) -> None:
        kind = module.PreTrainedModel
        for name in ("from_pretrained", "_from_config"):
            load = getattr(kind, name).__func__
            setattr(kind, name, classmethod(functools.wraps(load)(self._outermost(load))))
        kind.__new__ = self._outermost(_made)

    def _outermost(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """`make`, and the model adapted where it is made for the script."""

        def made(kind: Any, *args: Any, **kwargs: Any) -> Any:
            if make is _made and (self._deep or not (args or kwargs)):  # or it is being copied
                return object.__new__(kind)
            self._deep += 1
            try:
                model = make(kind, *args, **kwargs)
            finally:
                self._deep -= 1
            return model if self._deep else self._adapted(model)

        return made

    def _adapted(self, result: Any) -> Any:
        if isinstance(result, tuple):  # with output_loading_info
            return (self._adapted(result[0]), *result[1:])
        from peft import LoraConfig, get_peft_model

        arguments = {"r": _RANK, "target_modules": _targets(result.config.model_type)}
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        self._deep += 1
        try:
            adapted = get_peft_model(result, LoraConfig(**arguments))
        finally:
            self._deep -= 1
        self._note(f"model = get_peft_model(model, LoraConfig({shown}))".replace("'", '"'))
        return adapted


def _made(kind: Any, *args: Any, **kwargs: Any) -> Any:
    model = object.__new__(kind)
    model.__init__(*args, **kwargs)
    return model


def _targets(model_type: str) -> Any:
    """PEFT's own, where it has some."""
    from peft.utils import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as KNOWN

    return KNOWN.get(model_type, "all-linear")
