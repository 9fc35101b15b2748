"""What an op's schema and name tell of it, looked up once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

Run = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

aten = torch.ops.aten

# Products of matrices, and what is as dear: repeated only where they cost nothing.
_DEAR = {
    "mm", "bmm", "addmm", "baddbmm", "addbmm", "convolution", "linear", "_grouped_mm",
    "_scaled_mm", "native_layer_norm", "_fused_rms_norm", "_softmax", "_log_softmax",
}  # fmt: skip
_RANDOM_IN_PLACE = {
    "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "log_normal_", "geometric_",
    "cauchy_",
}  # fmt: skip
_RANDOM = {
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
    "bernoulli", "normal", "multinomial", "native_dropout", "_fused_dropout",
}  # fmt: skip

# They look at a tensor's shape alone.
_SHAPES_ALONE = {
    "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like",
    "new_zeros", "new_ones", "new_full",
}  # fmt: skip

# They look like ops of their own, and give another view of the same memory.
_VIEWS = {aten._unsafe_view.default, aten.lift_fresh.default}


def tensors_in(values: Iterable[Any]) -> list[torch.Tensor]:
    """The tensors among an op's arguments or results, those in lists too."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors_in(value)
    return found


def results(result: Any) -> list[torch.Tensor]:
    """The tensors that an op gave."""
    if isinstance(result, torch.Tensor):
        return [result]
    return tensors_in(result) if isinstance(result, (list, tuple)) else []


class Op:
    """One overload of an operator; `way` runs it."""

    def __init__(self, func: Any) -> None:
        self.func = func
        schema = getattr(func, "_schema", None)
        self.has_schema = schema is not None
        whole: str = schema.name if schema else ""
        self.library, _, self.name = whole.partition("::")
        self.is_dear = self.name in _DEAR
        self.is_random = self.name in _RANDOM or self.name in _RANDOM_IN_PLACE
        self.shapes_alone = self.name in _SHAPES_ALONE
        self.is_view = func in _VIEWS or (
            schema is not None
            and any(
                given.alias_info is not None and not given.alias_info.is_write
                for given in schema.returns
            )
        )
        written = [
            (place, argument)
            for place, argument in enumerate(schema.arguments if schema else ())
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        self._written = [place for place, argument in written if not argument.kwarg_only]
        self._outs = [argument.name for _, argument in written if argument.kwarg_only]
        # What it writes into it does not read.
        self.overwrites = bool(self._outs) or self.name in _RANDOM_IN_PLACE | {
            "fill_",
            "zero_",
            "copy_",
        }
        self.way: Run = _unset

    def written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
        """The tensors that it writes into, of those that it is given."""
        if not self._written and not self._outs:
            return []
        given = [args[place] for place in self._written if place < len(args)]
        return tensors_in((*given, *(kwargs.get(name) for name in self._outs)))


def _unset(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise AssertionError(func)
