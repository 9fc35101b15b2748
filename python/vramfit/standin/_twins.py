"""Twins: values of small tensors on the GPU, as tensors of the host over the stand-in's memory."""

from __future__ import annotations

from typing import Any

import torch

from vramfit.standin._door import ASSUMED, KNOWN, UNKNOWN, Door

# Values are kept of tensors up to so many bytes. What programs branch on and size by are integers
# and booleans; floating-point numbers that matter are single ones: losses, norms, scales.
_MOST_FLOAT = 1 << 20
_MOST_OTHER = 8 << 20

_HOST = torch.device("cpu")


def is_small(tensor: torch.Tensor) -> bool:
    most = _MOST_FLOAT if kind_of(tensor.dtype) == 2 else _MOST_OTHER
    return tensor.numel() * tensor.element_size() <= most


def kind_of(dtype: torch.dtype) -> int:
    """As the stand-in counts what bytes were written as: 1 integers, 2 floating-point numbers."""
    return 2 if dtype.is_floating_point or dtype.is_complex else 1


def default_of(dtype: torch.dtype) -> bool | float | int:
    """What stands in an unknown's place: a finite number, a count of one, a condition not met."""
    return False if dtype is torch.bool else 1


def span(tensor: torch.Tensor) -> int:
    """Bytes from a tensor's first element to its last."""
    if tensor.numel() == 0:
        return 0
    last = sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
    return (last + 1) * tensor.element_size()


class Twins:
    """Reads and writes what is known of the GPU's memory."""

    def __init__(self, door: Door) -> None:
        self._know, self._known = door.know, door.known
        self._distance = door.twin_distance

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor of the host with the same shape and strides over the same values."""
        bytes_ = span(tensor)
        twin = torch.empty(0, dtype=tensor.dtype)
        if bytes_ == 0:
            return twin.new_empty(tensor.shape)
        storage = torch._C._construct_storage_from_data_pointer(
            tensor.data_ptr() + self._distance, _HOST, bytes_
        )
        return twin.set_(storage, 0, tensor.shape, tensor.stride())

    def knowledge(self, tensor: torch.Tensor) -> int:
        level: int = self._known(tensor.data_ptr(), span(tensor), kind_of(tensor.dtype))
        return level

    def filled(self, tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The twin, with a default in the place of what is unknown, and what is known of it."""
        twin = self.of(tensor)
        level = self.knowledge(tensor)
        if level == UNKNOWN and tensor.numel() > 0:
            twin.fill_(default_of(tensor.dtype))
            self.note(tensor, ASSUMED)
            level = ASSUMED
        return twin, level

    def note(self, tensor: torch.Tensor, level: int) -> None:
        """Says what is known of a tensor. Of one with gaps that are another's no more than before,
        but that it is not known."""
        bytes_ = tensor.numel() * tensor.element_size()
        whole = span(tensor)
        if bytes_ < whole and level != UNKNOWN:
            level = min(level, max(ASSUMED, self.knowledge(tensor)))
        self._know(tensor.data_ptr(), whole, level, kind_of(tensor.dtype))

    def write(self, tensor: torch.Tensor, values: Any, level: int = KNOWN) -> None:
        """`values`, a tensor of the host or a number, as those of a tensor on the GPU."""
        twin = self.of(tensor)
        if isinstance(values, torch.Tensor):
            twin.copy_(values)
        else:
            twin.fill_(values)
        self.note(tensor, level)

    def forget(self, tensor: torch.Tensor) -> None:
        self._know(tensor.data_ptr(), span(tensor), UNKNOWN, kind_of(tensor.dtype))
