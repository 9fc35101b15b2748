"""What lived on each GPU when most was allocated there, read off PyTorch's memory history.

The history is read in portions, as stages turn, when it is known whose tensors live where; and is
cleared then, unless somebody wants it whole.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, Protocol

import torch

from vramfit.standin._collector import resting
from vramfit.standin._holders import Holders
from vramfit.standin._lines import Line, innermost
from vramfit.standin._origins import Origin, Origins
from vramfit.standin._unmapped import Unmapped

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
    frames: list[Json]  # of Python, as PyTorch tells them; of compiled code alone
    origin: Origin | None
    of_backward: bool  # by the origin's node
    stage: str = ""  # in which it was made; known when that is over
    holder: str | None = None  # of _holders.py; None: none that was met
    outlived_step: bool = False

    @property
    def bytes(self) -> int:
        return _rounded(self.requested)

    def lines(self) -> tuple[Line | None, Line | None]:
        """Outside of torch, and of the script."""
        frames = self.frames if self.origin is None else self.origin.frames()
        return innermost((frame["filename"], frame["line"]) for frame in frames)


@dataclass(slots=True)
class Peak:
    """What lived when most was allocated; of two that are as high, max() takes the first."""

    bytes: int = 0
    blocks: list[Block] = field(default_factory=list)

    def __gt__(self, other: Peak) -> bool:
        return self.bytes > other.bytes


class _Gpu:
    """Blocks of one."""

    def __init__(self) -> None:
        self.live: dict[int, Block] = {}  # by address
        self._unmapped: dict[int, Block] = {}  # with nothing of the card behind them
        self.allocated = 0
        self._of_this_stage: list[Block] = []
        # When most was allocated: in this stage, in this step before it, in the steps before.
        self._of_stage, self._of_step, self._of_all = Peak(), Peak(), Peak()

    def take(self, entries: list[Json], block: Callable[[Json], Block]) -> None:
        """What happened since, in order."""
        most, moment, allocated = self._of_stage.bytes, -1, self.allocated
        for at, entry in enumerate(entries):
            if entry["action"] == "alloc":
                allocated += _rounded(entry["size"])
                if allocated > most:
                    most, moment = allocated, at
            elif entry["addr"] not in self._unmapped:
                allocated -= _rounded(entry["size"])
        self.allocated = allocated
        for at, entry in enumerate(entries):
            if entry["action"] == "alloc":
                made = self.live[entry["addr"]] = block(entry)
                self._of_this_stage.append(made)
            else:
                self.live.pop(entry["addr"], None)
                self._unmapped.pop(entry["addr"], None)
            if at == moment:
                self._of_stage = Peak(most, list(self.live.values()))

    def leave_out(self, segments: list[Json]) -> None:
        """Blocks of these, and no others, have nothing of the card behind them from now on."""
        blocks = self.live | self._unmapped
        out = {
            block["address"]
            for segment in segments
            for block in segment["blocks"]
            if block["address"] in blocks
        }
        self._unmapped = {address: blocks[address] for address in out}
        self.live = {address: block for address, block in blocks.items() if address not in out}
        self.allocated = sum(block.bytes for block in self.live.values())

    def end_stage(self, stage: str) -> Peak:
        for block in self._of_this_stage:
            block.stage = stage
        self._of_this_stage.clear()
        over = self._of_stage
        self._of_step, self._of_stage = max(self._of_step, over), Peak()
        return over

    def end_step(self) -> None:
        self._of_all, self._of_step = max(self._of_all, self._of_step), Peak()

    def forget(self, *, all_steps: bool) -> None:
        self._of_step = self._of_stage = Peak()
        if all_steps:
            self._of_all = Peak()

    @property
    def peak(self) -> Peak:
        return max(self._of_all, self._of_step, self._of_stage)


class Witness(Protocol):
    """Told of all that the first GPU's allocator is asked for."""

    def add(self, entries: list[Json], blocks: list[Block], /) -> None:
        """Entries of the history, and what its allocations are, in order."""

    def turn(self, step: int, stage: str, /) -> None:
        """This stage is over."""


class History:
    """From the script's first use of CUDA on. `whole`: somebody wants PyTorch's snapshot of it.
    `ended` is told of each stage's end, with what each GPU held at its peak. `acts` is told of
    all that is asked for."""

    def __init__(
        self,
        unmapped: Unmapped,
        *,
        whole: bool,
        acts: Witness | None = None,
        ended: Callable[[int, str, list[Peak]], None] | None = None,
    ) -> None:
        self._unmapped, self._ended = unmapped, ended
        self._read: dict[int, int] = {}  # entries of each GPU, where they stay
        self._is_whole = whole or "clear_history" not in _SETTINGS
        self._step = 0
        self._gpus: defaultdict[int, _Gpu] = defaultdict(_Gpu)
        self._holders = Holders()
        self.origins = Origins(self._holders.vocabulary, self.read_on)
        self._record: Callable[..., None] = torch._C._cuda_record_memory_history
        torch._C._cuda_record_memory_history = self._recorded_by_script
        self.is_recording = self._is_the_scripts = False
        self.acts = acts

    def begin(self) -> None:
        """CUDA is there. What PyTorch keeps no words of nobody can tell apart."""
        knows = hasattr(torch._C, "_cuda_setMemoryMetadata")
        self.is_recording = knows and not self._is_the_scripts
        if self.is_recording:
            self._record_on()

    def turn(self, step: int, stage: str) -> None:
        """This stage of this step is over."""
        if not self.is_recording:
            return
        if step != self._step:
            for gpu in self._gpus.values():
                gpu.end_step()
        self._step = step
        self.read_on()
        if self.acts is not None:
            self.acts.turn(step, stage)
        for address, holder in self._holders.held():
            for gpu in self._gpus.values():
                if (block := gpu.live.get(address)) is not None:
                    block.holder = holder
        if stage == "optimizer":
            for gpu in self._gpus.values():
                for block in gpu.live.values():
                    block.outlived_step = True
        peaks = [gpu.end_stage(stage) for _, gpu in sorted(self._gpus.items())]
        self._leave_out_unmapped()
        if self._ended is not None:
            self._ended(step, stage, peaks)

    def _leave_out_unmapped(self) -> None:
        if self._unmapped.has_any:
            for number, gpu in self._gpus.items():
                gpu.leave_out(self._unmapped.segments(number))

    def forget(self, *, all_steps: bool) -> None:
        """This step failed, and is tried otherwise; `all_steps`: those before it, too."""
        for gpu in self._gpus.values():
            gpu.forget(all_steps=all_steps)

    def at_peak(self, gpu: int) -> list[Block]:
        """What lived there when most was allocated."""
        return self._gpus[gpu].peak.blocks

    def read_on(self) -> None:
        """What happened since it was read."""
        with resting():
            self._take()
        self.origins.were_read()
        if not self._is_whole:
            self._record_on()

    def _take(self) -> None:
        for gpu, entries in enumerate(torch.cuda.memory._snapshot()["device_traces"]):
            new = entries[self._read.get(gpu, 0) :]
            made: list[Block] = []
            used = [entry for entry in new if entry["action"] in _USED]
            self._gpus[gpu].take(used, partial(self._block, made))
            if self.acts is not None and gpu == 0:
                self.acts.add(new, made)
            if self._is_whole:
                self._read[gpu] = len(entries)

    def _block(self, made: list[Block], entry: Json) -> Block:
        """Which is added to those made."""
        origin, of_backward = self.origins.of(entry["user_metadata"])
        made.append(Block(entry["size"], entry.get("frames", []), origin, of_backward))
        return made[-1]

    def _record_on(self) -> None:
        # Stacks cost as much as all else here, and ops have their lines: what Inductor generates
        # allocates without any.
        stacks = self._is_whole or _has_compiled()
        asked: dict[str, Any] = {
            "enabled": "all",
            "context": "alloc" if stacks else None,
            "stacks": "python",
        }
        if not self._is_whole:
            asked |= {"clear_history": True}
            if self.acts is None:
                asked |= {"skip_actions": _SKIPPED}
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
        self.is_recording, self._is_the_scripts = False, True
        self._record(*args)


def _has_compiled() -> bool:
    """Rather than imported what compiles, as bitsandbytes does."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and bool(dynamo.counters)


def _rounded(size: int) -> int:
    return -(-size // _UNIT) * _UNIT
