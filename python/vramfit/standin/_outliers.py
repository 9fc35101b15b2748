"""LLM.int8()'s outliers: columns of a linear's input that are multiplied, and kept, in 16 bits.

Which they are only a GPU computes. As many are assumed as random weights have, by the rule that
`vramfit fit` has: model/ops/outliers.h. It hangs on what enters the linear, which the module that
calls it tells.
"""

from __future__ import annotations

import random
import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from vramfit.standin._handlers import Known
from vramfit.standin._sized import expecting

AS_MANY_OUTLIERS = (
    "which columns are outliers to LLM.int8() only a GPU computes: as many as random weights have, "
    "trained ones mostly have fewer"
)


@dataclass(frozen=True)
class _Input:
    """What enters a linear. An MLP's hidden elements have an `activation`, and are `gated` or not,
    each a sum over `hidden` of the stream; anything else is taken for a stream behind a norm."""

    quantile: float
    activation: bytes | None = None
    gated: bool = False
    hidden: int = 0


class Outliers:
    """Of each linear of the script's. Those that came first draw first."""

    def __init__(self) -> None:
        self._inputs: weakref.WeakKeyDictionary[Any, _Input] = weakref.WeakKeyDictionary()
        self._draws = random.Random(0)

    def quantized(
        self, values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """bitsandbytes::int8_vectorwise_quant, which reads whether there are any, and where."""

        def run() -> Any:
            return values.not_repeated(func, args, kwargs)

        tensor = args[0]
        threshold = args[1] if len(args) > 1 else kwargs.get("threshold", 0.0)
        if threshold == 0 or not tensor.is_cuda:
            return run()
        values.reads[AS_MANY_OUTLIERS] += 1
        columns = tensor.shape[-1]
        given = self._input()
        count = values.door.outlier_columns(
            given.activation,
            given.gated,
            given.hidden,
            tensor.numel() // columns,
            columns,
            given.quantile,
        )
        return expecting(values, [1, count] if count else [0], run)

    def _input(self) -> _Input:
        """Of the linear that is being called."""
        callers = _calling_modules()
        linear = next((module for module in callers if hasattr(module, "in_features")), None)
        known = self._inputs.get(linear) if linear is not None else None
        if known is None:
            known = _input_of(linear, callers, self._draws.uniform(0.001, 0.999))
            if linear is not None:
                self._inputs[linear] = known
        return known


def _calling_modules() -> Iterator[torch.nn.Module]:
    """Those whose forward is under way, the innermost first."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if "self" not in frame.f_code.co_varnames[:1]:
            continue
        found = frame.f_locals
        caller = found.get("self")
        if sys.version_info < (3, 13):
            found.clear()  # a copy, which would keep alive what the script lets go of
        if isinstance(caller, torch.nn.Module):
            yield caller


def _input_of(linear: Any, callers: Iterator[torch.nn.Module], quantile: float) -> _Input:
    """`callers`: those around it. An MLP has an activation, and before this linear one or two that
    make of what it returns what it takes: two, or one of twice the width, where it is gated."""
    for caller in callers:
        linears = [getattr(child, "base_layer", child) for child in caller.children()]
        if linear in linears and getattr(caller, "base_layer", None) is not linear:
            before = linears[: linears.index(linear)]
            width = sum(
                made.out_features
                for made in before
                if getattr(made, "in_features", None) == linear.out_features
            )
            activation = _activation(caller)
            if activation and width in (linear.in_features, 2 * linear.in_features):
                gated = width > linear.in_features
                return _Input(quantile, activation, gated, linear.out_features)
            break
    return _Input(quantile)


def _activation(module: torch.nn.Module) -> bytes | None:
    """Of the names that models' configs have for it those that differ: silu, and what is like
    gelu."""
    for name, value in {**vars(module), **dict(module.named_children())}.items():
        if ("act" in name or "gelu" in name) and callable(value):
            said = getattr(value, "__name__", type(value).__name__).lower()
            return b"silu" if "silu" in said or "swish" in said else b"gelu"
    return None
