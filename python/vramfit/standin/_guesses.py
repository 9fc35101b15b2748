"""Choices that a GPU makes among numbers that nobody knows: tokens, experts, whether all is finite.

What stands in their place is said once here, and named in the answer where a script reads it: a
token of the vocabulary that ends nothing, experts that share tokens equally, numbers that are
finite.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import arange

from vramfit.standin._door import ASSUMED, KNOWN
from vramfit.standin._handlers import Handler, Known
from vramfit.standin._twins import is_small

# No model's beginning, end or padding, as far as their configs say.
TOKEN = 5


def is_known(values: Known, tensor: torch.Tensor) -> bool:
    """Whether a choice among its elements is the one that a GPU would make. Integers are computed
    from what was assumed, which makes as good a choice as any."""
    return is_small(tensor) and (
        not tensor.dtype.is_floating_point or values.twins.knowledge(tensor) == KNOWN
    )


def _guess(values: Known, tensor: torch.Tensor, value: Any) -> None:
    if is_small(tensor):
        values.twins.write(tensor, value, ASSUMED)
    else:
        values.twins.forget(tensor)


def _token(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """argmax, multinomial: the same token for every row."""
    tensor = args[0]
    if not tensor.is_cuda or is_known(values, tensor):
        return values.repeated(func, args, kwargs)
    result = func(*args, **kwargs)
    among = tensor.shape[-1] if tensor.dim() else 1
    _guess(values, result, min(TOKEN, among - 1))
    return result


def _best(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """max and min along a dimension."""
    tensor = args[0]
    if len(args) < 2 or not tensor.is_cuda or is_known(values, tensor):
        return values.repeated(func, args, kwargs)
    result = func(*args, **kwargs)
    if not isinstance(result, tuple):  # of two tensors, element by element
        values.twins.forget(result)
        return result
    best, places = result
    values.twins.forget(best)
    dim = args[1]
    _guess(values, places, min(TOKEN, tensor.shape[dim] - 1) if tensor.dim() else 0)
    return result


def _balanced(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """topk, by which routers choose experts: each row takes those that follow the row's before."""
    tensor = args[0]
    dim = args[2] if len(args) > 2 else kwargs.get("dim", -1)
    last = tensor.dim() == 0 or dim in (-1, tensor.dim() - 1)
    if not tensor.is_cuda or not last or is_known(values, tensor):
        return values.repeated(func, args, kwargs)
    best, places = func(*args, **kwargs)
    values.twins.forget(best)
    if is_small(places) and places.numel() > 0:
        turns = arange(places.numel()) % tensor.shape[-1]
        # Rows of a count that divides evenly would begin with the same expert over and over: none
        # does worse for that.
        _guess(values, places, turns.reshape(places.shape))
    else:
        values.twins.forget(places)
    return best, places


def _in_order(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """sort: as they stand."""
    tensor = args[0]
    if not tensor.is_cuda or not tensor.dtype.is_floating_point or is_known(values, tensor):
        return values.repeated(func, args, kwargs)
    ordered, places = func(*args, **kwargs)
    values.twins.forget(ordered)
    if is_small(places) and places.numel() > 0:
        _guess(values, places, arange(places.shape[-1]).expand(places.shape))
    else:
        values.twins.forget(places)
    return ordered, places


def _answering(answer: bool) -> Handler:
    """all and any of conditions that nobody knows."""

    def handler(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor = args[0]
        if not tensor.is_cuda or is_small(tensor):
            return values.repeated(func, args, kwargs)
        result = func(*args, **kwargs)
        _guess(values, result, answer)
        return result

    return handler


def _all_finite(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The gradient scaler's check: it found no infinity."""
    return func(*args, **kwargs)


GUESSES: dict[str, Handler] = {
    "argmax": _token,
    "multinomial": _token,
    "max": _best,
    "min": _best,
    "topk": _balanced,
    "sort": _in_order,
    "all": _answering(True),
    "any": _answering(False),
    "_amp_foreach_non_finite_check_and_unscale_": _all_finite,
}
