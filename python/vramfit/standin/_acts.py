"""All that a process asks of PyTorch's allocator, in order, for `vramfit record`.

It is read off PyTorch's memory history, as _history.py comes to read it. Python's collector runs
as steps begin, and never by itself: when it would is a matter of chance.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from vramfit.standin._acts_names import (
    ALLOCATE,
    EMPTY_CACHE,
    GIVEN_BACK,
    LET_GO,
    OUT_OF_MEMORY,
    SEGMENT,
    SEGMENT_FREED,
)
from vramfit.standin._components import component
from vramfit.standin._events import before_forward
from vramfit.standin._history import Block
from vramfit.standin._lines import told

Json = dict[str, Any]

# torch._C's functions that give back what the allocator caches.
_EMPTY = ("_cuda_emptyCache", "_accelerator_emptyCache")
_CALLED = {
    "free_requested": LET_GO,
    "free_completed": GIVEN_BACK,
    "segment_alloc": SEGMENT,
    "segment_free": SEGMENT_FREED,
    "oom": OUT_OF_MEMORY,
}


class Acts:
    """Of the first GPU. `read` has the history read up to now; `loads` tells what came to lie on
    the card beside what is allocated, and after how many segments."""

    def __init__(self, read: Callable[[], None], loads: Callable[[], list[list[Any]]]) -> None:
        self._acts: list[list[Any]] = []  # of the stage that is under way
        self._stages: list[Json] = []
        self._blocks: list[Block] = []
        self._numbers: dict[int, int] = {}  # by address
        self._streams: dict[int, int] = {}  # as they came
        self._read, self._loads = read, loads
        gc.disable()
        before_forward.append(self._forward)
        for name in _EMPTY:
            if hasattr(torch._C, name):
                setattr(torch._C, name, self._told(getattr(torch._C, name)))

    def add(self, entries: list[Json], blocks: list[Block]) -> None:
        """Entries of the history, and what its allocations are, in order."""
        made = iter(blocks)
        for entry in entries:
            action, address = entry["action"], entry["addr"]
            if action == "alloc":
                self._numbers[address] = len(self._blocks)
                self._blocks.append(next(made))
                stream = self._streams.setdefault(entry["stream"], len(self._streams))
                self._acts.append([ALLOCATE, entry["size"], stream])
            elif action in _CALLED:
                freed = [self._numbers[address]] if action.startswith("free") else []
                self._acts.append([_CALLED[action], *freed])

    def turn(self, step: int, stage: str) -> None:
        """This stage is over."""
        loaded = len(self._loads())
        self._stages.append({"step": step, "stage": stage, "acts": self._acts, "loaded": loaded})
        self._acts = []

    def write(self, file: Path) -> None:
        lines: dict[str, int] = {}
        calls: dict[tuple[int, bool], int] = {}
        what = []
        for block in self._blocks:
            where, script = block.lines()
            line = " from ".join(filter(None, dict.fromkeys((told(where), told(script)))))
            origin = block.origin
            call = calls.setdefault((id(origin), block.of_backward), len(calls))
            op = f"{origin.op}{' backward' * block.of_backward}" if origin is not None else ""
            what.append([component(block), lines.setdefault(line, len(lines)), op, call])
        snapshot = torch.cuda.memory._snapshot()
        pools = {tuple(each.get("segment_pool_id", (0, 0))) for each in snapshot["segments"]}
        kept = {
            "stages": self._stages,
            "what": what,
            "lines": [*lines],
            "loads": self._loads(),
            "settings": snapshot.get("allocator_settings", {}),
            "pools": len(pools - {(0, 0)}),
        }
        file.write_text(json.dumps(kept))

    def _forward(self, _: torch.nn.Module) -> None:
        """Of the first micro-batch of a step."""
        if not self._stages or self._stages[-1]["stage"] == "backward":
            gc.collect()

    def _told(self, empty: Callable[[], None]) -> Callable[[], None]:
        def emptied() -> None:
            self._read()
            self._acts.append([EMPTY_CACHE])
            empty()

        return emptied
