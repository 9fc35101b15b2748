"""Half the micro-batch, and an optimizer's step after twice as many.

Transformers' Trainer accumulates by itself. Of other scripts the DataLoader gives half the rows,
and every second step of an optimizer is left out, with the clearing of gradients around it.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

import torch
from torch.optim import Optimizer

from vramfit.standin._changed_arguments import Arguments, Note, in_arguments
from vramfit.standin._changed_loaders import Loaders


def micro_batch(note: Note) -> None:
    """By the Trainer's arguments, else by torch's own DataLoader."""
    trainers, accumulation = _Trainers(), _Accumulation()

    def trains(rows: int) -> None:
        accumulation.begin()
        note(
            f"DataLoader(…, batch_size={rows // 2}), and optimizer.step() and zero_grad() "
            "after every second batch"
        )

    in_arguments(trainers.halved, note)
    Loaders(lambda: trainers.met, trains)


class _Trainers:
    def __init__(self) -> None:
        self.met = False
        self._made: set[tuple[int, int]] = set()

    def halved(self, arguments: Any) -> Arguments:
        self.met = True
        rows = arguments.per_device_train_batch_size
        times = arguments.gradient_accumulation_steps
        # TRL makes its own arguments of transformers', which were halved already.
        if rows < 2 or (rows, times) in self._made:
            return {}
        self._made.add((rows // 2, 2 * times))
        return {"per_device_train_batch_size": rows // 2, "gradient_accumulation_steps": 2 * times}


class _Accumulation:
    """Every second step of an optimizer is left out."""

    def __init__(self) -> None:
        self._calls: weakref.WeakKeyDictionary[Optimizer, int] = weakref.WeakKeyDictionary()
        self._begun = False
        make, clear = Optimizer.__init__, Optimizer.zero_grad
        clear_module = torch.nn.Module.zero_grad

        @functools.wraps(make)
        def made(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            make(optimizer, *args, **kwargs)
            self._calls[optimizer] = 0
            self._attend(type(optimizer))

        @functools.wraps(clear)
        def cleared(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            if not self._is_midway(optimizer):
                clear(optimizer, *args, **kwargs)

        @functools.wraps(clear_module)
        def cleared_module(module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
            if not any(self._is_midway(optimizer) for optimizer in list(self._calls)):
                clear_module(module, *args, **kwargs)

        Optimizer.__init__ = made  # type: ignore[method-assign]
        Optimizer.zero_grad = cleared  # type: ignore[method-assign]
        torch.nn.Module.zero_grad = cleared_module  # type: ignore[method-assign]

    def begin(self) -> None:
        self._begun = True

    def _is_midway(self, optimizer: Optimizer) -> bool:
        return self._calls.get(optimizer, 0) % 2 == 1

    def _attend(self, kind: Any) -> None:
        step = kind.step
        if getattr(step, "every_second", False):
            return

        @functools.wraps(step)
        def every_second(optimizer: Optimizer, closure: Any = None, **kwargs: Any) -> Any:
            if self._begun:
                self._calls[optimizer] = self._calls.get(optimizer, 0) + 1
            if not self._is_midway(optimizer):
                given = {} if closure is None else {"closure": closure}
                return step(optimizer, **given, **kwargs)
            if closure is None:
                return None
            with torch.enable_grad():
                return closure()

        every_second.every_second = True  # type: ignore[attr-defined]
        kind.step = every_second
