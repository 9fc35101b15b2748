"""Other forms of Adam in the place of those that the script makes."""

from __future__ import annotations

import functools
from inspect import signature
from typing import Any

from torch.optim import Adam, AdamW

from vramfit.standin._changed_arguments import Arguments, Note, in_arguments

# Of TrainingArguments(optim=…): those that are torch's AdamW.
_FUSED, _LOOPED = "adamw_torch_fused", "adamw_torch"
# What bitsandbytes' take as torch's do.
_SHARED = ("lr", "betas", "eps", "weight_decay")


def _optim(arguments: Any) -> str:
    return str(getattr(arguments.optim, "value", arguments.optim))


def adamw_8bit(note: Note) -> None:
    """bitsandbytes' in place of torch's own Adam and AdamW; classes that derive from them stay."""

    def change(arguments: Any) -> Arguments:
        return {"optim": "adamw_8bit"} if _optim(arguments) in (_FUSED, _LOOPED) else {}

    def made(kind: type[Adam], *args: Any, **kwargs: Any) -> Any:
        if kind not in (Adam, AdamW) or not (args or kwargs):  # or it is being copied
            return object.__new__(kind)
        import bitsandbytes

        given = signature(kind).bind(*args, **kwargs).arguments
        shared = {name: given[name] for name in _SHARED if name in given}
        instead = getattr(bitsandbytes.optim, f"{kind.__name__}8bit")
        note(f"bitsandbytes.optim.{instead.__name__}(…)")
        return instead(given["params"], **shared)

    in_arguments(change, note)
    Adam.__new__ = made  # type: ignore[method-assign, assignment]


def fused_adamw(note: Note) -> None:
    """One kernel for all, without temporaries, in place of the loops over tensors."""

    def change(arguments: Any) -> Arguments:
        return {"optim": _FUSED} if _optim(arguments) == _LOOPED else {}

    make = Adam.__init__

    @functools.wraps(make)
    def made(optimizer: Adam, *args: Any, **kwargs: Any) -> None:
        if not kwargs.get("fused") and not kwargs.get("differentiable"):
            kwargs.update(fused=True, foreach=None)
            note(f"torch.optim.{type(optimizer).__name__}(…, fused=True)")
        make(optimizer, *args, **kwargs)

    in_arguments(change, note)
    Adam.__init__ = made  # type: ignore[method-assign]
