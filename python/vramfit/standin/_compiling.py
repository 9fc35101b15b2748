"""torch.compile at work: its time, shown as it goes on, and what a GPU would have been asked.

Python's collector rests meanwhile: it takes a tenth of the time, for graphs that live on.

Where Inductor and Triton time kernels to choose one, on the stand-in all take the same time: they
keep their first. What they allocate to try them is a compile's, not a step's.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from vramfit.standin._collector import resting
from vramfit.standin._imports import when_imported

_EVERY = 10  # seconds


class Compiling:
    """Of a process. `begins` and `ends` are told of each compile, backward graphs' too."""

    def __init__(self, begins: Callable[[], None], ends: Callable[[], None]) -> None:
        self._begins, self._ends = begins, ends
        self.compiles = 0
        self.seconds = 0.0  # of CPU, of the compiler's own processes those that have ended
        self.chosen = 0  # kernels that a GPU would have timed
        self._is_over = threading.Event()
        when_imported("torch._dynamo.callback", self._attend)
        when_imported("torch._inductor.runtime.triton_heuristics", self._count_kernels)
        when_imported("torch._inductor.select_algorithm", self._count_products)

    def told(self) -> dict[str, Any] | None:
        """None: nothing was compiled."""
        if not self.compiles:
            return None
        return {"compiles": self.compiles, "seconds": self.seconds, "untimed": self.chosen}

    def _attend(self, callback: Any) -> None:
        callback.callback_handler.register_start_callback(self._begin)
        callback.callback_handler.register_end_callback(self._end)

    def _begin(self, *_: Any) -> None:
        gc.collect()  # what a real compile's first collections let go of
        self._rest = resting()
        self._rest.__enter__()
        self._begins()
        self.compiles += 1
        self._since = _cpu_seconds()
        self._is_over = threading.Event()
        threading.Thread(target=self._show, args=(self._is_over,), daemon=True).start()

    def _end(self, *_: Any) -> None:
        self._is_over.set()
        self.seconds += _cpu_seconds() - self._since
        self._ends()
        self._rest.__exit__(None, None, None)

    def _show(self, is_over: threading.Event) -> None:
        while not is_over.wait(_EVERY):
            so_far = self.seconds + _cpu_seconds() - self._since
            print(f"vramfit: compiling, {so_far:.0f} s of CPU so far", file=sys.stderr, flush=True)

    def _count_kernels(self, heuristics: Any) -> None:
        self._count(heuristics.CachingAutotuner, "autotune_to_one_config")

    def _count_products(self, algorithms: Any) -> None:
        self._count(algorithms.AlgorithmSelectorCache, "do_autotuning")

    def _count(self, kind: Any, name: str) -> None:
        function = getattr(kind, name, None)
        if function is None:
            return

        @functools.wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.chosen += 1
            return function(*args, **kwargs)

        setattr(kind, name, counted)


@contextmanager
def without_compiler() -> Iterator[None]:
    """Meanwhile torch's C++, which asks torch for Inductor where it tells a stack, finds it only if
    it is there already: asked for it is imported, which takes as long as most scripts of a step."""
    lazy: set[str] = getattr(sys.modules["torch"], "_lazy_modules", set())
    named = {"_inductor"} & lazy if "torch._inductor" not in sys.modules else set()
    lazy -= named
    try:
        yield
    finally:
        lazy |= named


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
