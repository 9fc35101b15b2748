"""When a script's steps turn: a model's forward begins, a backward, an optimizer's step.

None of it leaves a frame in the script's tracebacks, is seen by torch.compile, or costs anything
for the modules inside a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

# Called with each model as its forward begins, before it runs.
before_forward: list[Callable[[torch.nn.Module], None]] = []
# Called as a backward begins.
before_backward: list[Callable[[], None]] = []


class _Told:
    """In the place of a class's `__call__`: tells that it is looked up, which is what happens
    right before it runs, and gives the function itself."""

    def __init__(self, function: Callable[..., Any], tell: Callable[[Any], None]) -> None:
        self.function, self._tell = function, tell

    def __get__(self, owner: Any, kind: type | None = None) -> Callable[..., Any]:
        if owner is None:
            return self.function
        self._tell(owner)
        bound: Callable[..., Any] = self.function.__get__(owner, kind)
        return bound


class _ToldFunction(_Told):
    def __get__(self, owner: Any, kind: type | None = None) -> Callable[..., Any]:
        self._tell(owner)
        return self.function


def in_backward() -> bool:
    """Whether this thread runs the autograd engine: recomputed layers, optimizers in hooks."""
    return bool(torch._C._current_graph_task_id() != -1)


class Events:
    """Tells of each: `forward` with its model, `backward`, `optimizer` as a step of one begins."""

    the: ClassVar[Events]  # the process's

    def __init__(
        self,
        forward: Callable[[torch.nn.Module], None],
        backward: Callable[[], None],
        optimizer: Callable[[], None],
    ) -> None:
        self._forward, self._backward, self._optimizer = forward, backward, optimizer
        self._call = _Told(torch.nn.Module.__call__, self._module_called)
        # The first that a backward does, before it makes a gradient of its own.
        grads = _ToldFunction(torch.autograd._make_grads, self._backward_called)
        torch.autograd._make_grads = type("Grads", (), {"__call__": grads})()
        register_optimizer_step_pre_hook(self._optimizer_steps)
        register_optimizer_step_post_hook(lambda *_: self.await_forward())
        Events.the = self
        self.await_forward()

    def await_forward(self) -> None:
        """Until the next model is called, each module's call is looked at."""
        self._awaits = True
        setattr(torch.nn.Module, "__call__", self._call)  # noqa: B010  mypy: it is no method

    def after_compile(self) -> None:
        """torch.fx, which traces Inductor's patterns the first time, puts back the function that it
        found, and not what tells of it."""
        if self._awaits:
            self.await_forward()

    def _module_called(self, module: torch.nn.Module) -> None:
        if in_backward() or not torch.cuda.is_initialized():
            return
        if not any(parameter.is_cuda for parameter in module.parameters()):
            return
        self._awaits = False
        setattr(torch.nn.Module, "__call__", self._call.function)  # noqa: B010
        for tell in before_forward:
            tell(module)
        self._forward(module)

    def _backward_called(self, _: Any) -> None:
        if in_backward():
            return  # of a reentrant checkpoint
        for tell in before_backward:
            tell()
        self._backward()
        self.await_forward()

    def _optimizer_steps(self, *_: Any) -> None:
        self._optimizer()
