"""What asked for an allocation: an op that was dispatched, or a node of autograd's graph.

PyTorch's memory history keeps a word of the thread's with each allocation. Here it is a number, by
which a block finds its op again. Autograd's engine runs no Python: a node gets the number of what
its op in forward came from, which has a line.
"""

from __future__ import annotations

import sys
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import Any

import torch

from vramfit.standin._events import in_backward
from vramfit.standin._lines import INSIDE, SCRIPT, Line, whose
from vramfit.standin._ops import results

# Ops whose nodes may come in a backward yet; and ops between two readings of the history.
_GRAPH, _OFTEN = 200_000, 20_000


@dataclass(slots=True)
class Origin:
    """An op's call, or its node's in backward."""

    outputs: tuple[int, ...]  # bytes of each
    makes_logits: bool  # whether one has rows of the vocabulary
    vocabulary: int  # how wide these are, where it makes or takes any; otherwise 0
    where: Line | None  # outside of torch
    script: Line | None
    component: str | None  # where a file tells it: see _COMPONENTS
    of_backward: bool = False


# Of a block that a function in such a file asked for.
KV_CACHE, COMMUNICATION, OF_OPTIMIZER = "kv_cache", "communication", "optimizer's"
_COMPONENTS = {
    "/transformers/cache_utils.py": KV_CACHE,
    "/torch/distributed/": COMMUNICATION,
    "/torch/nn/parallel/distributed.py": COMMUNICATION,
    "/deepspeed/runtime/": COMMUNICATION,
    "/optim/": OF_OPTIMIZER,
}


class _Told(dict[str, str | None]):
    """What a file tells of what is allocated in it."""

    def __missing__(self, file: str) -> str | None:
        told = [named for part, named in _COMPONENTS.items() if part in file]
        self[file] = component = told[0] if told else None
        return component


_TOLD = _Told()


def _standing(frame: FrameType | None) -> tuple[Line | None, Line | None, str | None]:
    """Where a thread stands: the innermost lines outside of torch and of the script, and what
    component a file on the way tells of."""
    where = component = None
    is_in_call = True  # of the innermost module: what calls that allocates nothing in its own name
    while frame is not None:
        file = frame.f_code.co_filename
        kind = whose[file]
        if kind == SCRIPT:
            script = file, frame.f_lineno
            return where or script, script, component
        if component is None and is_in_call:
            component = _TOLD[file]
            is_in_call = not file.endswith("/torch/nn/modules/module.py")
        if kind != INSIDE and where is None:
            where = file, frame.f_lineno
        frame = frame.f_back
    return where, None, component


class _Graph(threading.local):
    """What a thread's ops that make nodes were, by autograd's sequence number after each."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.origins: list[Origin] = []

    def add(self, origin: Origin) -> None:
        self.numbers.append(torch.autograd._get_sequence_nr())
        self.origins.append(origin)
        if len(self.numbers) > _GRAPH:
            del self.numbers[: _GRAPH // 2], self.origins[: _GRAPH // 2]

    def of(self, node: Any) -> Origin | None:
        at = bisect_left(self.numbers, node._sequence_nr() + 1)
        return self.origins[at] if at < len(self.numbers) else None


class Origins:
    """Of all threads. `vocabulary` tells how wide a row of logits is; `read_history` is called now
    and then, so that what is read at once stays short."""

    def __init__(self, vocabulary: Callable[[], int], read_history: Callable[[], None]) -> None:
        self._vocabulary, self._read_history = vocabulary, read_history
        self._row: tuple[int, ...] = (0,)  # of logits: the vocabulary
        self._last = 0
        self._ops: dict[str, Origin] = {}
        self._nodes: dict[str, Origin] = {}
        self._graph = _Graph()
        self._run_backward = torch.autograd.graph._engine_run_backward
        torch.autograd.graph._engine_run_backward = self._backward
        torch.autograd._engine_run_backward = self._backward  # type: ignore[attr-defined]

    def run(self, op: Callable[..., Any], func: Any, args: Any, kwargs: Any) -> Any:
        """The op, in whose name all is that it allocates."""
        word, before = self._word(), torch._C._cuda_getMemoryMetadata()
        torch._C._cuda_setMemoryMetadata(word)
        try:
            result = op(func, args, kwargs)
        finally:
            torch._C._cuda_setMemoryMetadata(before)
        sizes, makes_logits = [], False
        for output in results(result):
            if output.is_cuda:
                sizes.append(output.nbytes)
                makes_logits |= output.shape[-1:] == self._row
        takes_logits = any(getattr(value, "shape", ())[-1:] == self._row for value in args)
        place = _standing(sys._getframe(2))
        vocabulary = self._row[0] if makes_logits or takes_logits else 0
        origin = Origin(tuple(sizes), makes_logits, vocabulary, *place)
        self._ops[word] = origin
        if torch.is_grad_enabled():
            self._graph.add(origin)
        if len(self._ops) > _OFTEN:
            self._read_history()
        return result

    def of(self, word: str) -> Origin | None:
        """Whose an allocation is that has this word in PyTorch's history."""
        return self._ops.get(word) or self._nodes.get(word)

    def were_read(self) -> None:
        """All allocations so far have found theirs."""
        self._ops.clear()
        self._row = (self._vocabulary(),)

    def _word(self) -> str:
        self._last += 1
        return str(self._last)

    def _backward(self, tensors: Iterable[torch.Tensor], *args: Any, **kwargs: Any) -> Any:
        before = torch._C._cuda_getMemoryMetadata()
        if not in_backward():
            self._nodes.clear()
        self._name_nodes(tensor.grad_fn for tensor in tensors)
        try:
            return self._run_backward(tensors, *args, **kwargs)
        finally:
            torch._C._cuda_setMemoryMetadata(before)

    def _name_nodes(self, roots: Iterable[Any]) -> None:
        seen = set()
        ahead = [root for root in roots if root is not None]
        while ahead:
            node = ahead.pop()
            if node in seen:
                continue
            seen.add(node)
            origin = self._graph.of(node)
            if origin is not None:  # none of what gathers a parameter's gradient
                word = self._word()
                self._nodes[word] = replace(origin, component=None, of_backward=True)
                node.register_prehook(partial(_say, word))
            ahead += [following for following, _ in node.next_functions if following is not None]


def _say(word: str, _: Any) -> None:
    torch._C._cuda_setMemoryMetadata(word)
