"""Where ops are watched: in Python's code of all threads, and not in autograd's own.

While a dispatch mode is on, autograd takes other ways through its backward pass
(at::isTensorSubclassLike): it no longer sums gradients in place. So the mode is off while the
engine runs, and on again in what the engine calls back: functions and hooks of Python, such as what
activation checkpointing recomputes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import torch
from torch._C._dynamo import eval_frame
from torch.utils._python_dispatch import TorchDispatchMode, _pop_mode, _push_mode

from vramfit.standin._ops import Run

_PLAIN = torch.Tensor.__torch_dispatch__
_FAKE = torch._C._TorchDispatchModeKey.FAKE
_fake_mode = torch._C._get_dispatch_mode


def as_it_is(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return func(*args, **kwargs)


class Names(Protocol):
    """In whose name things run."""

    def run(self, way: Run, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op, in a way."""

    def backward(self, tensors: Iterable[torch.Tensor]) -> AbstractContextManager[None]:
        """Meanwhile the engine runs from these tensors on."""


class _Nobody:
    def run(self, way: Run, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return way(func, args, kwargs)

    def backward(self, _: Iterable[torch.Tensor]) -> AbstractContextManager[None]:
        return nullcontext()


class Watching(TorchDispatchMode):
    """A mode that sees every op that is dispatched, of all that autograd has made of the script."""

    supports_higher_order_operators = True
    names: Names = _Nobody()

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True  # otherwise torch.compile runs eager instead, silently

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # by its own wrapper, which imports the compiler: 1.5 s; see _LEFT

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if _fake_mode(_FAKE) is not None:
            return func(*args, **(kwargs or {}))  # shapes alone, as FSDP2 asks for and compilers
        if types and any(kind.__torch_dispatch__ is not _PLAIN for kind in types):
            return NotImplemented  # a subclass makes plain ops of it, which come here in turn
        return self.names.run(self.way(func), func, args, kwargs or {})

    def way(self, func: Any) -> Run:
        """In which an op is run."""
        return as_it_is

    def unseen(self, result: torch.Tensor) -> None:
        """It was made while the mode was off."""

    def backward_unseen(self) -> None:
        """The engine ran while the mode was off."""


# torch.compile leaves it alone, and what it calls.
_LEFT = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.SKIP)
eval_frame.set_code_exec_strategy(Watching.__torch_dispatch__.__code__, _LEFT)


def _take_off(mode: Watching) -> bool:
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


def _put_under(mode: Watching) -> None:
    above = [_pop_mode() for _ in range(torch._C._len_torch_dispatch_stack())]
    for each in (mode, *reversed(above)):
        _push_mode(each)


@contextmanager
def _off(mode: Watching) -> Iterator[None]:
    was_on = _take_off(mode)
    try:
        yield
    finally:
        if was_on:
            _put_under(mode)


@contextmanager
def _on(mode: Watching) -> Iterator[None]:
    was_on = _take_off(mode)
    _put_under(mode)
    try:
        yield
    finally:
        if not was_on:
            _take_off(mode)


def _watched(mode: Watching, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        with _on(mode):
            return function(*args, **kwargs)

    return watched


def _unwatched(mode: Watching, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes one large tensor of others, and makes it otherwise under a mode:
    attention in fp32 no longer adds its mask in place."""

    @functools.wraps(function)
    def unwatched(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        with _off(mode):
            result = mode.names.run(as_it_is, function, args, kwargs)
        if result.is_cuda:
            mode.unseen(result)
        return result

    return unwatched


def watch_everywhere(mode: Watching) -> None:
    """From now on, for as long as the process lives."""
    _put_under(mode)
    thread: Any = threading.Thread
    thread._bootstrap_inner = _watched(mode, thread._bootstrap_inner)  # kinds of it have a run()

    run_backward = torch.autograd.graph._engine_run_backward

    @functools.wraps(run_backward)
    def unwatched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        with _off(mode), mode.names.backward(tensors):
            result = run_backward(tensors, *args, **kwargs)
        mode.backward_unseen()
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
