"""DataLoaders that feed training give half their rows."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from inspect import signature
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from vramfit.standin._events import Events, before_backward, before_forward
from vramfit.standin._longest import innermost_sampler


class Loaders:
    """The script's own, made to give half. Which of them feed training shows as batches are taken:
    a backward follows. One that is asked without gradients, or again after a forward without, or
    after two forwards and no backward, gives whole batches from then on."""

    def __init__(self, are_others: Callable[[], bool], trains: Callable[[int], None]) -> None:
        """`are_others`: those made now are to stay as they are; `trains` is told how many rows the
        script asked for, of each that feeds training."""
        self._are_others, self._trains = are_others, trains
        # What the script asked for, by the sampler of a loader of which nobody knows yet.
        self._rows: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._samplers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        # Iterators that gave since the last backward, and how many forwards came after that.
        self._gave: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._only_looked = False  # the last forward had no gradients
        before_forward.append(self._forward)
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
            halves = is_own and rows is not None and rows > 1 and not self._are_others()
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
            sampler = innermost_sampler(loader.batch_sampler)
            # One of the script's own may be anything, a list too.
            is_halved = type(sampler) is BatchSampler and sampler in self._rows
            if is_halved and not torch.is_grad_enabled():
                self._give_whole(sampler)  # before workers fetch
            iterator = get_iterator(loader)
            if is_halved:
                self._samplers[iterator] = sampler
            return iterator

        return begun

    def _giving(self, give: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(give)
        def given(iterator: Any) -> Any:
            sampler = self._samplers.get(iterator)
            if sampler in self._rows and self._evaluates(iterator):
                self._give_whole(sampler)
            if self._only_looked:
                self._forget()  # what was looked at is followed by something else
            batch = give(iterator)
            if sampler in self._rows:
                self._gave.setdefault(iterator, 0)
                Events.the.await_forward()
            return batch

        return given

    def _evaluates(self, iterator: Any) -> bool:
        forwards = self._gave.get(iterator, 0)
        return not torch.is_grad_enabled() or forwards > (0 if self._only_looked else 1)

    def _give_whole(self, sampler: Any) -> None:
        sampler.batch_size = self._rows.pop(sampler)

    def _forward(self, _: torch.nn.Module) -> None:
        self._only_looked = not torch.is_grad_enabled()
        for iterator in list(self._gave):
            self._gave[iterator] += 1

    def _backward(self) -> None:
        for iterator in list(self._gave):
            rows = self._rows.pop(self._samplers[iterator], None)
            if rows is not None:
                self._trains(rows)
        self._forget()

    def _forget(self) -> None:
        self._gave.clear()
        self._only_looked = False
