"""A script's stages: load, then forward, backward and optimizer of each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from vramfit.standin._books import Books
from vramfit.standin._events import Events, in_backward
from vramfit.standin._history import History

# So many steps at least: optimizer states appear in the first, and meet activations in the second.
_LEAST = 3
# So many in which nothing grew are enough, where all batches have one shape and where they vary.
_QUIET, _QUIET_OF_VARYING = 1, 8
# PyTorch's watchdog of NCCL looks every 100 ms at what has completed, and lets go of its tensors.
_WATCHDOG = 0.15  # seconds


class Steps:
    """Keeps a row for each stage of each step, and says when enough was seen."""

    def __init__(
        self, books: Books, history: History, limit: int | None, enough: Callable[[str], None]
    ) -> None:
        self._books, self._history = books, history
        self._limit, self._enough = limit, enough
        self.rows: list[dict[str, Any]] = []
        self.turns: list[tuple[int, str, int]] = []  # step, stage, when it ended in microseconds
        self.batches: list[tuple[int, ...]] = []  # of the models' inputs, as they came, each once
        self.stage = self._compiled_in = "load"
        self.step = 0  # the one that is under way
        self.finished = 0  # optimizer steps
        self._stepped_in_backward = False
        self._runs_engine = 0  # how often it was entered: models that it calls turn nothing
        self._most: list[int] = []  # of each GPU's levels, of all steps
        self._quiet = 0  # steps since one of them grew
        self.ran_out = False  # and nothing came after
        self._last: list[int] = []  # allocated when the last stage was closed
        self._events = Events(self._forward, self._backward, self._optimizer)

    def close(self) -> None:
        """Writes down the stage that is under way."""
        levels = self._books.turn()
        self._history.turn(self.step, self.stage)
        self.turns.append((self.step, self.stage, time.time_ns() // 1000))
        row = next(
            (row for row in self.rows if (row["step"], row["stage"]) == (self.step, self.stage)),
            None,
        )
        if row is None:
            before = self._last or [0] * len(levels)
            devices = [
                {"before": last, **level} for last, level in zip(before, levels, strict=True)
            ]
            self.rows.append({"step": self.step, "stage": self.stage, "devices": devices})
        else:
            for known, level in zip(row["devices"], levels, strict=True):
                for key, value in level.items():
                    known[key] = max(known[key], value) if key.startswith("peak") else value
        self._last = [level["after"] for level in levels]

    def run_out(self) -> None:
        """Memory could not be had. Where the script catches that, it may begin anew."""
        self.ran_out = True
        self._events.await_forward()

    def compile_begins(self) -> None:
        """In the midst of a stage, as a rule a forward: what compiling takes is told apart."""
        self.close()
        self._compiled_in, self.stage = self.stage, "compile"

    def compile_ends(self) -> None:
        self.close()
        self.stage = self._compiled_in
        self._events.after_compile()

    def turn_to(self, stage: str) -> None:
        """One of an engine's, which serves. In a script that trains as well it is of the step that
        comes."""
        if stage != self.stage:
            self._end_stage()
            self.stage = stage
            if self.finished:
                self.step = self.finished + 1

    @contextmanager
    def of_engine(self) -> Iterator[None]:
        """Meanwhile models are called by an engine, and turn nothing."""
        self._runs_engine += 1
        try:
            yield
        finally:
            self._runs_engine -= 1
            self._events.await_forward()

    def _forward(self, module: torch.nn.Module) -> None:
        if self._runs_engine:
            return
        if self.ran_out and self.stage in ("forward", "backward"):
            self._begin_anew()
        self._turn_to("forward")
        # What compiles must not meet a hook.
        if module._compiled_call_impl is None and type(module).__name__ != "OptimizedModule":
            self._look_at_inputs(module)

    def _backward(self) -> None:
        self._turn_to("backward")

    def _optimizer(self) -> None:
        if in_backward():
            self._stepped_in_backward = True  # one step of many small ones
            return
        if self.stage == "backward" and _has_a_watchdog():
            time.sleep(_WATCHDOG)  # a GPU's backward takes long enough; otherwise it is a race
        self._turn_to("optimizer")

    def _begin_anew(self) -> None:
        """What failed, and is tried otherwise, is no part of what the script takes."""
        self.close()
        failed = self.step
        self._history.forget(all_steps=failed == 1)  # its inputs came while loading
        self.rows = [row for row in self.rows if row["step"] != failed]
        if failed == 1:
            self._load_again()
        self.stage, self.step = "forward", self.finished + 1

    def _load_again(self) -> None:
        """Its inputs were on the GPU before its first forward, as the next ones' are now."""
        for gpu, now in zip(self.rows[0]["devices"], self._last, strict=True):
            if gpu["peak"] == gpu["after"]:
                gpu["peak"] = now
            gpu["after"] = now

    def _turn_to(self, stage: str) -> None:
        self.ran_out = False
        if stage == self.stage:
            return
        self._end_stage()
        self.stage = stage
        self.step = self.finished + 1

    def _end_stage(self) -> None:
        step_over = self._stepped_in_backward or self.stage == "optimizer"
        self.close()
        if step_over:
            self._stepped_in_backward = False
            self._step_over()

    def _step_over(self) -> None:
        self.finished += 1
        self._compare()
        if self._limit is not None:
            if self.finished >= self._limit:
                self._enough("steps")
        elif self.finished >= _LEAST and self._quiet >= (
            _QUIET if len(self.batches) < 2 else _QUIET_OF_VARYING
        ):
            self._enough("steady")

    def _compare(self) -> None:
        """Of the step that is over, with those before it."""
        rows = [row["devices"] for row in self.rows if row["step"] == self.finished]
        levels = [device["after"] for device in rows[-1]]
        for key in ("peak", "peak_reserved", "peak_device_used"):
            levels += [
                max(column)
                for column in zip(*[[gpu[key] for gpu in row] for row in rows], strict=True)
            ]
        if self._most and all(now <= most for now, most in zip(levels, self._most, strict=True)):
            self._quiet += 1
        else:
            self._quiet = 0
            self._most = [max(pair) for pair in zip(levels, self._most or levels, strict=True)]

    def _look_at_inputs(self, module: torch.nn.Module) -> None:
        """Of this call, the shape of its tokens."""

        def look(_: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            handle.remove()
            values = [kwargs.get("input_ids"), *args, *kwargs.values()]
            for value in values:
                if isinstance(value, torch.Tensor) and value.dim() == 2 and _are_tokens(value):
                    shape = tuple(value.shape)
                    if shape not in self.batches:
                        self.batches.append(shape)
                    return

        handle = module.register_forward_pre_hook(look, with_kwargs=True)


def _has_a_watchdog() -> bool:
    distributed = torch.distributed
    return (
        distributed.is_available()
        and distributed.is_initialized()
        and "nccl" in distributed.get_backend()
    )


def _are_tokens(tensor: torch.Tensor) -> bool:
    return tensor.dtype in (torch.int64, torch.int32)
