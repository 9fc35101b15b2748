"""Symmetric memory of PyTorch's, where one rank is there: its own buffer takes what it takes, and
stands in for those of the others, which take nothing of its card.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from vramfit.standin._imports import when_imported

_SUMS = ("multimem_all_reduce_", "two_shot_all_reduce_")  # in place


def attend() -> None:
    """For as long as the process lives."""
    when_imported("torch.distributed._symmetric_memory", _attend)


def _attend(module: Any) -> None:
    module.rendezvous = _Memory
    for name in _SUMS:
        _operators.impl(name, _summed, "CUDA", allow_override=True)


_operators = torch.library.Library("symm_mem", "IMPL")


def _summed(tensor: torch.Tensor, *_: Any) -> torch.Tensor:
    return tensor


class _Memory:
    """As PyTorch's own. A switch adds up between its GPUs: one address is all's (multicast)."""

    def __init__(self, tensor: torch.Tensor, group: Any) -> None:
        if isinstance(group, str):
            group = dist.distributed_c10d._resolve_process_group(group)
        self.rank, self.world_size = group.rank(), group.size()
        self.device = tensor.device
        self._tensor = tensor
        self.buffer_size = tensor.untyped_storage().nbytes()
        self.multicast_ptr = tensor.untyped_storage().data_ptr()
        self.buffer_ptrs = [self.multicast_ptr] * self.world_size
        # Of buffers and of signals, as kernels read them.
        self._addresses = [
            torch.empty(self.world_size, dtype=torch.int64, device=self.device) for _ in range(2)
        ]
        self.buffer_ptrs_dev, self.signal_pad_ptrs_dev = (
            addresses.data_ptr() for addresses in self._addresses
        )

    def get_buffer(
        self, rank: int, sizes: Sequence[int], dtype: torch.dtype, storage_offset: int = 0
    ) -> torch.Tensor:
        whole = self._tensor.view(-1).view(dtype)
        return whole[storage_offset : storage_offset + math.prod(sizes)].view(*sizes)

    def barrier(self, *_: Any, **__: Any) -> None:
        """Nobody is waited for."""
