"""The GPU that is there, for `--beside-real`: watched as one on the stand-in is, and used."""

from __future__ import annotations

from typing import Any

import torch


class RealCard:
    """The machine's own, as _books.Card. What a GPU lost is looked up as stages turn: nobody tells
    what it was in between."""

    def __init__(self, held: int) -> None:
        """`held`: bytes that others held of it as the process began."""
        self._held = held
        self._most: dict[int, int] = {}

    def report(self) -> dict[str, Any]:
        devices = []
        for device in range(torch.cuda.device_count() if torch.cuda.is_initialized() else 1):
            used = self._used(device)
            most = self._most[device] = max(used, self._most.get(device, 0))
            devices.append({"used": used, "peak_used": most, "libraries": []})
        return {
            "devices": devices,
            "host": {"peak_locked": 0, "peak_managed": 0},
            "unknown_calls": [],
            "unknown_reads": 0,
            "doubtful_events": 0,
        }

    def kernels(self) -> dict[str, int]:
        return {}

    def reset_peak(self, device: int, /) -> None:
        self._most.pop(device, None)

    def _used(self, device: int) -> int:
        """By this process. To ask of a GPU takes a context there: none, where there is none."""
        if not torch.cuda.is_initialized() or not torch.cuda.memory_reserved(device):
            return 0
        free, total = torch.cuda.mem_get_info(device)
        return max(0, total - free - self._held)
