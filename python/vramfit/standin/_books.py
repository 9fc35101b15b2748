"""What each GPU's memory reached at most, stage by stage.

PyTorch's allocator keeps one high-water mark, and a stage needs its own: it is reset at each
stage's start. What the script itself asks of it, `torch.cuda.max_memory_allocated()` and the like,
is answered as if it had never been reset but by the script.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch

from vramfit.standin._unmapped import Unmapped

Stats = dict[str, Any]

# torch._C's functions that give an allocator's statistics, and those that reset their peaks.
_STATS = ("_cuda_memoryStats", "_accelerator_getDeviceStats")
_RESETS = ("_cuda_resetPeakMemoryStats", "_accelerator_resetPeakStats")


def _raised(stats: Stats, peaks: Stats | None) -> Stats:
    """Statistics whose peaks are no lower than those; changed in place."""
    if peaks is None:
        return stats
    for key, value in stats.items():
        if isinstance(value, dict):
            _raised(value, peaks.get(key))
        elif key == "peak":
            stats[key] = max(value, peaks.get(key, 0))
    return stats


class Card(Protocol):
    """The machine's GPUs, as those who count see them."""

    def report(self) -> dict[str, Any]:
        """`devices`, each with what is `used` of it, and was at most, `peak_used`; and `host`,
        `unknown_calls`, `unknown_reads`, `doubtful_events`."""

    def kernels(self) -> dict[str, int]:
        """How often each was launched, by name; of a card that tells."""

    def reset_peak(self, device: int, /) -> None:
        """`peak_used` begins anew."""


class Books:
    """Replaces torch._C's functions for statistics, once a process."""

    def __init__(self, card: Card, unmapped: Unmapped) -> None:
        self._card, self._unmapped = card, unmapped
        self._were_unmapped: dict[int, tuple[int, int]] = {}  # as the stage began
        self._stats: Callable[[int], Stats] = torch._C._cuda_memoryStats
        self._reset: Callable[[int], None] = torch._C._cuda_resetPeakMemoryStats
        self._theirs: dict[int, Stats] = {}  # as they were when a stage last reset them
        self._ours: dict[int, tuple[int, int]] = {}  # of the stage, when the script last reset them
        for name in _STATS:
            setattr(torch._C, name, self._told_to_script)
        for name in _RESETS:
            setattr(torch._C, name, self._reset_by_script)

    def turn(self) -> list[dict[str, int]]:
        """Of each GPU what it holds, and held at most since the turn before. Bytes."""
        levels = []
        for device, card in enumerate(self._card.report()["devices"]):
            stats = self._stats(device) if torch.cuda.is_initialized() else {}
            pairs = _pair(stats, "current"), _pair(stats, "peak")
            most = tuple(map(max, pairs[1], self._ours.pop(device, (0, 0))))
            # All that PyTorch counts is there, but for what nothing of the card is behind: now, and
            # all through the stage, which ends where an engine falls asleep or wakes.
            now = self._unmapped.bytes(device)
            always = tuple(map(min, now, self._were_unmapped.get(device, (0, 0))))
            self._were_unmapped[device] = now
            allocated, reserved = map(int.__sub__, pairs[0], now)
            peak, peak_reserved = map(int.__sub__, most, always)
            if stats:
                self._theirs[device] = _raised(stats, self._theirs.get(device))
                self._reset(device)
            self._card.reset_peak(device)
            levels.append(
                {
                    "after": allocated,
                    "peak": peak,
                    "reserved": reserved,
                    "peak_reserved": peak_reserved,
                    "device_used": card["used"],
                    "peak_device_used": card["peak_used"],
                }
            )
        return levels

    def _told_to_script(self, device: int) -> Stats:
        return _raised(self._stats(device), self._theirs.get(device))

    def _reset_by_script(self, device: int) -> None:
        peaks = _pair(self._stats(device), "peak")
        before = self._ours.get(device, (0, 0))
        self._ours[device] = max(peaks[0], before[0]), max(peaks[1], before[1])
        self._theirs.pop(device, None)
        self._reset(device)


def _pair(stats: Stats, kind: str) -> tuple[int, int]:
    """What is allocated and what is reserved, `current` or `peak`."""
    if not stats:
        return 0, 0
    return stats["allocated_bytes"]["all"][kind], stats["reserved_bytes"]["all"][kind]
