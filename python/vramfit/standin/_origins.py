"""What asked for an allocation: an op that was dispatched, or a node of autograd's graph.

PyTorch's memory history keeps a word of the thread's with each allocation. Here it is a number, by
which a block finds its op again. Autograd's engine runs no Python: a node has the number of its op
in forward, which has a line.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch._C._profiler import gather_traceback, symbolize_tracebacks

from vramfit.standin._collector import resting
from vramfit.standin._compiling import without_compiler
from vramfit.standin._events import in_backward
from vramfit.standin._lines import SCRIPT, whose
from vramfit.standin._ops import Run, results

_OF_NODE = "node of "
# Ops whose nodes may come in a backward yet; and ops between two readings of the history.
_GRAPH, _OFTEN = 100_000, 20_000


@dataclass(slots=True)
class Origin:
    """An op's call."""

    word: str  # of the op's call
    outputs: tuple[int, ...]  # bytes of each
    makes_logits: bool  # whether one has rows of the vocabulary
    vocabulary: int  # how wide these are, where it makes or takes any; otherwise 0
    stack: Any  # of the thread, as torch._C gathers it: looked at where somebody asks
    op: Any  # the overload

    def frames(self) -> list[dict[str, Any]]:
        """As PyTorch tells them, innermost first."""
        with without_compiler():
            frames: list[dict[str, Any]] = symbolize_tracebacks([self.stack])[0]
        return frames

    @property
    def component(self) -> str | None:
        """Where a file tells it, on the way to the innermost module's call: see _COMPONENTS."""
        told = (_TOLD[frame["filename"]] for frame in self.frames())
        return next((each for each in told if each is not None), None) or None


# Of a block that a function in such a file asked for.
KV_CACHE, COMMUNICATION, OF_OPTIMIZER = "kv_cache", "communication", "optimizer's"
_COMPONENTS = {
    "/transformers/cache_utils.py": KV_CACHE,
    "/torch/distributed/": COMMUNICATION,
    "/torch/nn/parallel/distributed.py": COMMUNICATION,
    "/deepspeed/runtime/": COMMUNICATION,
    "/optim/": OF_OPTIMIZER,
}


# It calls modules: what is around one's call allocates nothing in its own name.
_CALL = "/torch/nn/modules/module.py"


class _Told(dict[str, str | None]):
    """What a file tells of what is allocated in it; None: nothing, those around it may; empty: nor
    do they."""

    def __missing__(self, file: str) -> str | None:
        told = [named for part, named in _COMPONENTS.items() if part in file]
        ends = whose[file] == SCRIPT or file.endswith(_CALL)
        self[file] = component = "" if ends else told[0] if told else None
        return component


_TOLD = _Told()


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
        self._row: tuple[int] | None = None  # of logits: the vocabulary
        self._last = 0
        self._ops: dict[str, Origin] = {}
        self._nodes: dict[str, Origin] = {}  # each is its op's
        self._graph = _Graph()

    def run(self, way: Run, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op, in whose name all is that it allocates."""
        self._last += 1
        word, before = str(self._last), torch._C._cuda_getMemoryMetadata()
        torch._C._cuda_setMemoryMetadata(word)
        try:
            result = way(func, args, kwargs)
        finally:
            torch._C._cuda_setMemoryMetadata(before)
        sizes, makes_logits = [], False
        for output in results(result):
            if output.is_cuda:
                sizes.append(output.nbytes)
                makes_logits |= output.shape[-1:] == self._row
        of_logits = makes_logits or any(
            value.shape[-1:] == self._row for value in args if isinstance(value, torch.Tensor)
        )
        vocabulary = self._row[0] if self._row and of_logits else 0
        stack = gather_traceback(python=True, script=False, cpp=False)
        origin = Origin(word, tuple(sizes), makes_logits, vocabulary, stack, func)
        self._ops[word] = origin
        if torch.is_grad_enabled():
            self._graph.add(origin)
        if len(self._ops) > _OFTEN:
            self._read_history()
        return result

    @contextmanager
    def backward(self, tensors: Iterable[torch.Tensor]) -> Iterator[None]:
        """What its nodes allocate is in their names."""
        before = torch._C._cuda_getMemoryMetadata()
        if not in_backward():
            self._nodes.clear()
        with resting():
            self._name_nodes(map(_root, tensors))
        try:
            yield
        finally:
            torch._C._cuda_setMemoryMetadata(before)

    def of(self, word: str) -> tuple[Origin | None, bool]:
        """Whose an allocation is that has this word in PyTorch's history; and whether it is not the
        op's, but its node's in backward."""
        node = self._nodes.get(word)
        return (self._ops.get(word), False) if node is None else (node, True)

    def were_read(self) -> None:
        """All allocations so far have found theirs."""
        self._ops.clear()
        rows = self._vocabulary()
        self._row = (rows,) if rows else None

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
                word = f"{_OF_NODE}{origin.word}"
                self._nodes[word] = origin
                node.register_prehook(partial(_say, word))
            ahead += [following for following, _ in node.next_functions if following is not None]


def _root(output: Any) -> Any:
    """Where the engine begins: of a tensor, or of an edge that stands for one."""
    return output.node if isinstance(output, torch.autograd.graph.GradientEdge) else output.grad_fn


def _say(word: str, _: Any) -> None:
    torch._C._cuda_setMemoryMetadata(word)
