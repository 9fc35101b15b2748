"""Whose tensors live where: of modules, of their gradients and of optimizers.

PyTorch tells of every module that gets a parameter or a buffer, and of every optimizer that steps.
What they hold is looked up when it is asked for, so that moving, sharding, wrapping and quantising
a model change nothing here.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)
from torch.optim.optimizer import register_optimizer_step_pre_hook

from vramfit.standin._imports import when_imported

PARAMETERS, GRADIENTS, OPTIMIZER_STATE = "parameters", "gradients", "optimizer_state"

# How far below a tensor others hang on it: bitsandbytes' Params4bit → QuantState → a QuantState.
_DEEP = 3


class Holders:
    """Those of a process, from torch's import on."""

    def __init__(self) -> None:
        self._modules: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
        self._optimizers: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()
        self._averages: weakref.WeakSet[Any] = weakref.WeakSet()  # diffusers', which are no modules
        register_module_parameter_registration_hook(self._meet)
        register_module_buffer_registration_hook(self._meet)
        register_optimizer_step_pre_hook(lambda optimizer, *_: self._optimizers.add(optimizer))
        when_imported("diffusers.training_utils", self._meet_averages)

    def _meet_averages(self, module: Any) -> None:
        initialize = module.EMAModel.__init__

        @functools.wraps(initialize)
        def met(average: Any, *args: Any, **kwargs: Any) -> None:
            initialize(average, *args, **kwargs)
            self._averages.add(average)

        module.EMAModel.__init__ = met

    def _meet(self, module: torch.nn.Module, *_: Any) -> None:
        self._modules.add(module)

    def vocabulary(self) -> int:
        """The rows of the largest embedding; 0: there is none."""
        rows = [
            module.num_embeddings
            for module in list(self._modules)
            if isinstance(module, torch.nn.Embedding)
        ]
        return max(rows, default=0)

    def held(self) -> Iterator[tuple[int, str]]:
        """Addresses of storages on GPUs, and what each holds."""
        for module in list(self._modules):
            for tensor in (*module._parameters.values(), *module._buffers.values()):
                if tensor is None:
                    continue
                for address in _addresses(tensor):
                    yield address, PARAMETERS
                if tensor.grad_fn is None and tensor.grad is not None:
                    for address in _addresses(tensor.grad):
                        yield address, GRADIENTS
        for average in list(self._averages):
            for address in _addresses_below(average.shadow_params, 1):
                yield address, PARAMETERS
        for optimizer in list(self._optimizers):
            for address in _addresses_below(optimizer.state, _DEEP):
                yield address, OPTIMIZER_STATE


def _addresses(tensor: torch.Tensor) -> Iterator[int]:
    """Of a tensor's storage, and of what hangs on it: subclasses are made of plain tensors."""
    flatten = getattr(tensor, "__tensor_flatten__", None)
    if flatten is not None:
        for name in flatten()[0]:
            yield from _addresses_below(getattr(tensor, name), 0)  # a DTensor names its mesh, too
    elif tensor.is_cuda and tensor.layout is torch.strided:
        yield tensor.untyped_storage().data_ptr()
    attributes = getattr(tensor, "__dict__", None)
    if attributes:
        yield from _addresses_below(attributes, _DEEP)


def _addresses_below(value: Any, deep: int) -> Iterator[int]:
    if isinstance(value, torch.Tensor):
        yield from _addresses(value)
    elif deep == 0 or isinstance(value, torch.nn.Module):
        return
    elif isinstance(value, dict):
        for each in list(value.values()):
            yield from _addresses_below(each, deep if isinstance(each, dict) else deep - 1)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _addresses_below(each, deep - 1)
    elif type(value).__module__.startswith("bitsandbytes"):
        yield from _addresses_below(vars(value), deep - 1)
