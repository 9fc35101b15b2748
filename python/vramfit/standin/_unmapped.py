"""Memory that PyTorch's allocator counts though nothing of the card is behind it: what vLLM's pools
give back while an engine sleeps.

Their addresses stay reserved, and PyTorch is told nothing. The names are those of vLLM 0.26
and 0.33 (device_allocator/cumem.py).
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from vramfit.standin._vllm_releases import when_has

Json = dict[str, Any]


class Unmapped:
    """Segments of the process's, by their addresses."""

    def __init__(self) -> None:
        self._addresses: set[int] = set()
        self.has_any = False  # or had
        when_has(("vllm.device_allocator.cumem",), "unmap_and_release", self._attend)

    def _attend(self, module: Any) -> None:
        for name, change in (
            ("unmap_and_release", self._add),
            ("create_and_map", self._addresses.discard),
        ):
            setattr(module, name, _told(getattr(module, name), change))

    def _add(self, address: int) -> None:
        self._addresses.add(address)
        self.has_any = True

    def segments(self, device: int) -> list[Json]:
        """Those of a GPU that PyTorch counts, as torch.cuda.memory_snapshot() has them."""
        if not self._addresses:
            return []
        return [
            segment
            for segment in torch.cuda.memory_snapshot()
            if segment["device"] == device and segment["address"] in self._addresses
        ]

    def bytes(self, device: int) -> tuple[int, int]:
        """Of a GPU, allocated and reserved."""
        segments = self.segments(device)
        return (
            sum(segment["allocated_size"] for segment in segments),
            sum(segment["total_size"] for segment in segments),
        )


def _told(function: Any, change: Any) -> Any:
    """A handle is a device, a size, an address, and what is mapped there."""

    @functools.wraps(function)
    def told(handle: Any) -> Any:
        result = function(handle)
        change(handle[2])
        return result

    return told
