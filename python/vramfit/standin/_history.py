"""What lived on each GPU when most was allocated there, read off PyTorch's memory history.

The history is read in portions, as stages turn, when it is known whose tensors live where; and is
cleared then, unless somebody wants it whole.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch

from vramfit.standin._holders import Holders
from vramfit.standin._lines import Line, innermost
from vramfit.standin._origins import Origin, Origins

Json = dict[str, Any]

# As PyTorch's allocator rounds what is asked for. Bytes.
_UNIT = 512
# A block is free for others from the request on; what else PyTorch tells of, nobody reads here.
_USED = ("alloc", "free_requested")
_SKIPPED = [
    "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "snapshot",
    "oom",
]  # fmt: skip

_SETTINGS = signature(torch.cuda.memory._record_memory_history).parameters


@dataclass(slots=True)
class Block:
    """An allocation."""

    requested: int  # bytes
    stage: str  # in which it was made
    frames: list[Json]  # of Python, as PyTorch tells them; of compiled code alone
    origin: Origin | None
    holder: str | None = None  # of _holders.py; None: none that was met
    outlived_step: bool = False

    @property
    def bytes(self) -> int:
        return _rounded(self.requested)

    def lines(self) -> tuple[Line | None, Line | None]:
        """Outside of torch, and of the script."""
        if self.origin is not None:
            return self.origin.where, self.origin.script
        return innermost((frame["filename"], frame["line"]) for frame in self.frames)


class _Gpu:
    """Blocks of one."""

    def __init__(self) -> None:
        self.live: dict[int, Block] = {}  # by address
        self.allocated = 0
        # Bytes and blocks when most was allocated: in this step, and in those before it.
        self._peak: tuple[int, list[Block]] = (0, [])
        self._peak_before: tuple[int, list[Block]] = (0, [])

    def take(self, entries: list[Json], block: Callable[[Json], Block]) -> None:
        """What happened since, in order."""
        most, moment = self._peak[0], -1
        for at, entry in enumerate(entries):
            size = _rounded(entry["size"])
            self.allocated += size if entry["action"] == "alloc" else -size
            if self.allocated > most:
                most, moment = self.allocated, at
        for at, entry in enumerate(entries):
            if entry["action"] == "alloc":
                self.live[entry["addr"]] = block(entry)
            else:
                self.live.pop(entry["addr"], None)
            if at == moment:
                self._peak = most, list(self.live.values())

    def end_step(self) -> None:
        if self._peak[0] > self._peak_before[0]:
            self._peak_before = self._peak
        self.forget_step()

    def forget_step(self) -> None:
        self._peak = (0, [])

    @property
    def at_peak(self) -> list[Block]:
        return max(self._peak_before, self._peak, key=lambda peak: peak[0])[1]


class History:
    """From the script's first use of CUDA on. `whole`: somebody wants PyTorch's snapshot of it."""

    def __init__(self, *, whole: bool) -> None:
        self._read: dict[int, int] = {}  # entries of each GPU, where they stay
        self._is_whole = whole or "clear_history" not in _SETTINGS
        self._step, self._stage = 0, "load"
        self._gpus: defaultdict[int, _Gpu] = defaultdict(_Gpu)
        self._holders = Holders()
        self.origins = Origins(self._holders.vocabulary, lambda: self.turn(self._step, self._stage))
        self._record: Callable[..., None] = torch._C._cuda_record_memory_history
        torch._C._cuda_record_memory_history = self._recorded_by_script
        self.is_recording = False

    def begin(self) -> None:
        """CUDA is there. What PyTorch keeps no words of nobody can tell apart."""
        self.is_recording = hasattr(torch._C, "_cuda_setMemoryMetadata")
        if self.is_recording:
            self._record_on()

    def turn(self, step: int, stage: str) -> None:
        """So far it was this stage of this step."""
        if not self.is_recording:
            return
        if step != self._step:
            for gpu in self._gpus.values():
                gpu.end_step()
        self._step, self._stage = step, stage
        self._read_on()
        for address, holder in self._holders.held():
            for gpu in self._gpus.values():
                if (block := gpu.live.get(address)) is not None:
                    block.holder = holder
        if stage == "optimizer":
            for gpu in self._gpus.values():
                for block in gpu.live.values():
                    block.outlived_step = True

    def forget_step(self) -> None:
        """What failed, and is tried otherwise."""
        for gpu in self._gpus.values():
            gpu.forget_step()

    def at_peak(self, gpu: int) -> list[Block]:
        """What lived there when most was allocated."""
        return self._gpus[gpu].at_peak

    def _read_on(self) -> None:
        for gpu, entries in enumerate(torch.cuda.memory._snapshot()["device_traces"]):
            new = entries[self._read.get(gpu, 0) :]
            self._gpus[gpu].take([entry for entry in new if entry["action"] in _USED], self._block)
            if self._is_whole:
                self._read[gpu] = len(entries)
        self.origins.were_read()
        if not self._is_whole:
            self._record_on()

    def _block(self, entry: Json) -> Block:
        origin = self.origins.of(entry["user_metadata"])
        return Block(entry["size"], self._stage, entry.get("frames", []), origin)

    def _record_on(self) -> None:
        # Stacks cost as much as all else here, and ops have their lines: what Inductor generates
        # allocates without any.
        stacks = self._is_whole or "torch._inductor.output_code" in sys.modules
        asked = {"enabled": "all", "context": "alloc" if stacks else None, "stacks": "python"}
        if not self._is_whole:
            asked |= {"clear_history": True, "skip_actions": _SKIPPED}
        ours, torch._C._cuda_record_memory_history = (
            torch._C._cuda_record_memory_history,
            self._record,
        )
        torch.cuda.memory._record_memory_history(
            **{name: value for name, value in asked.items() if name in _SETTINGS}
        )
        torch._C._cuda_record_memory_history = ours

    def _recorded_by_script(self, *args: Any) -> None:
        """There is one history: from here on it is the script's."""
        self.is_recording = False
        self._record(*args)


def _rounded(size: int) -> int:
    return -(-size // _UNIT) * _UNIT
