"""Where ops are watched: in Python's code of all threads, and not in autograd's own.

While a dispatch mode is on, autograd takes other ways through its backward pass
(at::isTensorSubclassLike): it no longer sums gradients in place. So the mode is off while the
engine runs, and on again in what the engine calls back: functions and hooks of Python, such as what
activation checkpointing recomputes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import _pop_mode, _push_mode

if TYPE_CHECKING:
    from vramfit.standin._values import Values


def _take_off(mode: Values) -> bool:
    """Whether the mode was on; those above it stay."""
    above = []
    found = False
    for _ in range(torch._C._len_torch_dispatch_stack()):
        top = _pop_mode()
        if top is mode:
            found = True
            break
        above.append(top)
    for other in reversed(above):
        _push_mode(other)
    return found


def _put_under(mode: Values) -> None:
    above = [_pop_mode() for _ in range(torch._C._len_torch_dispatch_stack())]
    for each in (mode, *reversed(above)):
        _push_mode(each)


@contextmanager
def _off(mode: Values) -> Iterator[None]:
    was_on = _take_off(mode)
    try:
        yield
    finally:
        if was_on:
            _put_under(mode)


@contextmanager
def _on(mode: Values) -> Iterator[None]:
    was_on = _take_off(mode)
    _put_under(mode)
    try:
        yield
    finally:
        if not was_on:
            _take_off(mode)


def _watched(mode: Values, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        with _on(mode):
            return function(*args, **kwargs)

    return watched


def _unwatched(mode: Values, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes one large tensor of others, and makes it otherwise under a mode:
    attention in fp32 no longer adds its mask in place."""

    @functools.wraps(function)
    def unwatched(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        with _off(mode):
            result = mode.named(_called, function, args, kwargs)
        if result.is_cuda:
            mode.twins.forget(result)
        return result

    return unwatched


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


def watch_everywhere(mode: Values) -> None:
    """From now on, for as long as the process lives."""
    _put_under(mode)
    thread: Any = threading.Thread
    thread._bootstrap_inner = _watched(mode, thread._bootstrap_inner)  # kinds of it have a run()

    run_backward = torch.autograd.graph._engine_run_backward

    @functools.wraps(run_backward)
    def unwatched(*args: Any, **kwargs: Any) -> Any:
        with _off(mode):
            result = run_backward(*args, **kwargs)
        mode.door.forget_floats()  # what backward wrote, nobody saw
        return result

    torch.autograd.graph._engine_run_backward = unwatched
    torch.autograd._engine_run_backward = unwatched  # type: ignore[attr-defined]

    backward = torch.autograd.function.BackwardCFunction
    backward.apply = _watched(mode, backward.apply)  # type: ignore[method-assign]

    functional: Any = torch.nn.functional
    functional.scaled_dot_product_attention = _unwatched(
        mode, functional.scaled_dot_product_attention
    )

    hooks = torch.autograd.graph.saved_tensors_hooks
    initialize = hooks.__init__

    @functools.wraps(initialize)
    def with_watched_unpacking(
        self: Any, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]
    ) -> None:
        initialize(self, pack_hook, _watched(mode, unpack_hook))

    hooks.__init__ = with_watched_unpacking  # type: ignore[method-assign]
