"""Optimizers by fit's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from vramfit.standin._door import StandInError

_RATE = 1e-5  # nothing hangs on it


def _bitsandbytes(name: str) -> Callable[..., Any]:
    def make(params: Any, **options: Any) -> Any:
        import bitsandbytes

        return getattr(bitsandbytes.optim, name)(params, **options)

    return make


def _transformers_adafactor(params: Any, **options: Any) -> Any:
    """As its Trainer makes it."""
    from transformers.optimization import Adafactor

    return Adafactor(params, scale_parameter=False, relative_step=False, **options)


# Each with the name that transformers' Trainer has for it, where it has one.
_OPTIMIZERS: dict[str, tuple[Callable[..., Any], dict[str, Any], str | None]] = {
    "adamw-fused": (torch.optim.AdamW, {"fused": True}, "adamw_torch_fused"),
    "adamw": (torch.optim.AdamW, {}, "adamw_torch"),
    "adamw-loop": (torch.optim.AdamW, {"foreach": False}, None),
    "sgd": (torch.optim.SGD, {}, "sgd"),
    "sgd-momentum": (torch.optim.SGD, {"momentum": 0.9}, None),
    "adafactor": (torch.optim.Adafactor, {}, None),
    "adafactor-hf": (_transformers_adafactor, {}, "adafactor"),
    "adamw-8bit": (_bitsandbytes("AdamW8bit"), {}, "adamw_bnb_8bit"),
    "paged-adamw-8bit": (_bitsandbytes("PagedAdamW8bit"), {}, "paged_adamw_8bit"),
    "paged-adamw-32bit": (_bitsandbytes("PagedAdamW32bit"), {}, "paged_adamw_32bit"),
}
DEFAULT = "adamw-fused"  # transformers' own


def optimizer_of(model: torch.nn.Module, name: str | None) -> Any:
    make, options, _ = _named(name or DEFAULT)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return make(trained, lr=_RATE, **options)


def name_of_trainers(name: str) -> str | None:
    """TrainingArguments' `optim`; None where they have none such."""
    return _named(name)[2]


def _named(name: str) -> tuple[Callable[..., Any], dict[str, Any], str | None]:
    if name not in _OPTIMIZERS:
        raise StandInError(f"optimizer: unknown '{name}'; one of {', '.join(_OPTIMIZERS)}")
    return _OPTIMIZERS[name]
