"""Half the micro-batch, and an optimizer's step after twice as many.

Transformers' Trainer accumulates by itself. Of other scripts the DataLoader gives half the rows,
and every second step of an optimizer is left out, with the clearing of gradients around it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from inspect import signature
from typing import Any

import torch
from torch.optim import Optimizer
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from vramfit.standin._changed_arguments import Arguments, Note, in_arguments
from vramfit.standin._events import before_backward
from vramfit.standin._longest import innermost_sampler


def micro_batch(note: Note) -> None:
    """By the Trainer's arguments, else by torch's own DataLoader."""
    trainers = _Trainers()
    in_arguments(trainers.halved, note)
    _Loaders(_Accumulation(), lambda: trainers.met, note)


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


class _Loaders:
    """The script's own. Which of them feed training shows as batches are taken: a backward follows.
    One that is asked without gradients, or twice without a backward, gives whole batches again."""

    def __init__(
        self, accumulation: _Accumulation, is_trainers: Callable[[], bool], note: Note
    ) -> None:
        self._accumulation, self._is_trainers, self._note = accumulation, is_trainers, note
        # What the script asked for, by the sampler of a loader of which nobody knows yet.
        self._rows: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._samplers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._last: Callable[[], Any] = _nothing  # iterator that gave, if no backward came since
        before_backward.append(self._backward)
        DataLoader.__init__ = self._making(DataLoader.__init__)  # type: ignore[method-assign]
        loader: Any = DataLoader
        loader._get_iterator = self._beginning(loader._get_iterator)
        _BaseDataLoaderIter.__next__ = self._giving(  # type: ignore[method-assign]
            _BaseDataLoaderIter.__next__
        )

    def _making(self, make: Callable[..., None]) -> Callable[..., None]:
        parameters = signature(make)

        @functools.wraps(make)
        def made(loader: DataLoader[Any], *args: Any, **kwargs: Any) -> None:
            given = parameters.bind(loader, *args, **kwargs).arguments
            rows = given.get("batch_size", 1)
            # Those that derive are made of the script's, by Accelerate and the like.
            is_own = type(loader) is DataLoader and given.get("batch_sampler") is None
            halves = is_own and rows is not None and rows > 1 and not self._is_trainers()
            if halves:
                given["batch_size"] = rows // 2
            given.pop("self")
            make(loader, **given)
            if halves:
                self._rows[loader.batch_sampler] = rows

        return made

    def _beginning(self, get_iterator: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(get_iterator)
        def begun(loader: DataLoader[Any]) -> Any:
            iterator = get_iterator(loader)
            self._samplers[iterator] = innermost_sampler(loader.batch_sampler)
            return iterator

        return begun

    def _giving(self, give: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(give)
        def given(iterator: Any) -> Any:
            if self._last() is iterator or not torch.is_grad_enabled():
                rows, sampler = self._undecided(iterator)
                if rows is not None:
                    sampler.batch_size = rows
            self._last = _nothing
            batch = give(iterator)
            self._last = weakref.ref(iterator)
            return batch

        return given

    def _backward(self) -> None:
        rows, _ = self._undecided(self._last())
        self._last = _nothing
        if rows is not None:
            self._accumulation.begin()
            self._note(
                f"DataLoader(…, batch_size={rows // 2}), and optimizer.step() and zero_grad() "
                "after every second batch"
            )

    def _undecided(self, iterator: Any) -> tuple[int | None, Any]:
        """How many rows the script asked for, and the sampler that gives half as many; told once,
        as it shows what they are for."""
        sampler = None if iterator is None else self._samplers.get(iterator)
        return (None if sampler is None else self._rows.pop(sampler, None)), sampler


def _nothing() -> None:
    """A reference to none."""


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
