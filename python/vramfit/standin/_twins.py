"""Twins: values of small tensors on the GPU, as tensors of the host over the stand-in's memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
from torch import empty, full  # torch's own: DeepSpeed's ZeRO-3 puts others there for a while

from vramfit.standin._door import ASSUMED, KNOWN, UNKNOWN, Door

# Values are kept of tensors up to so many bytes. What programs branch on and size by are integers
# and booleans; floating-point numbers that matter are masks and single ones: losses, norms, scales.
_MOST_FLOAT = 1 << 20
_MOST_OTHER = 8 << 20
_MOST_WEIGHT = 64 << 10

_HOST = torch.device("cpu")

# All addresses as one storage, but the first page: a storage begins somewhere.
_FIRST = 4096
_ADDRESSES = 1 << 47


class Kind:
    """What is the same for all tensors of a dtype."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.is_float = dtype.is_floating_point or dtype.is_complex
        self.number = 2 if self.is_float else 1  # as the stand-in counts what bytes were written as
        self.most = _MOST_FLOAT if self.is_float else _MOST_OTHER

    @cached_property
    def default(self) -> torch.Tensor:
        """What stands in an unknown's place: a finite number, a count of one, a condition not
        met."""
        return full((), self.dtype is not torch.bool, dtype=self.dtype, device=_HOST)

    @cached_property
    def memory(self) -> torch.Tensor:
        """A tensor that all of the process's memory is the storage of."""
        storage = torch._C._construct_storage_from_data_pointer(_FIRST, _HOST, _ADDRESSES)
        return empty(0, dtype=self.dtype, device=_HOST).set_(storage)


class _Kinds(dict[torch.dtype, Kind]):
    def __missing__(self, dtype: torch.dtype) -> Kind:
        self[dtype] = kind = Kind(dtype)
        return kind


KINDS = _Kinds()


def is_small(tensor: torch.Tensor) -> bool:
    """Whether values are kept of it. Of a sparse one they are not: it is several."""
    return tensor.layout is torch.strided and tensor.nbytes <= KINDS[tensor.dtype].most


def is_kept(tensor: torch.Tensor) -> bool:
    """Whether it looks at values that are kept: it may be larger than they, where they repeat."""
    return tensor.layout is torch.strided and span(tensor) <= KINDS[tensor.dtype].most


def is_weight(tensor: torch.Tensor) -> bool:
    """Whether it is a parameter that is too large for anybody to branch on; what is made of it, as
    states of optimizers are, has no values either."""
    return isinstance(tensor, torch.nn.Parameter) and tensor.nbytes > _MOST_WEIGHT


def span(tensor: torch.Tensor) -> int:
    """Bytes from a tensor's first element to its last."""
    if tensor.is_contiguous() or tensor.numel() == 0:
        return tensor.nbytes
    last = 0
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        last += (size - 1) * stride
    return (last + 1) * tensor.element_size()


class Twins:
    """Reads and writes what is known of the GPU's memory."""

    def __init__(self, door: Door) -> None:
        self._know, self._known = door.know, door.known
        self._distance = door.twin_distance

    def _at(
        self, tensor: torch.Tensor, shape: Sequence[int], stride: Sequence[int]
    ) -> torch.Tensor:
        if tensor.numel() == 0:
            return empty(shape, dtype=tensor.dtype, device=_HOST)
        place = (tensor.data_ptr() + self._distance - _FIRST) // tensor.element_size()
        return KINDS[tensor.dtype].memory.as_strided(shape, stride, place)

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor of the host with the same shape and strides over the same values."""
        return self._at(tensor, tensor.shape, tensor.stride())

    def knowledge(self, tensor: torch.Tensor) -> int:
        if tensor.numel() == 0:
            return KNOWN
        level: int = self._known(tensor.data_ptr(), span(tensor), KINDS[tensor.dtype].number)
        return level

    def values(self, tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
        """What a tensor holds, to be read, and what is known of it: its default where that is
        nothing."""
        level = self.knowledge(tensor)
        if level == UNKNOWN:
            return KINDS[tensor.dtype].default.expand(tensor.shape), ASSUMED
        return self.of(tensor), level

    def filled(self, tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The twin, to be written into, and what is known of it: its default from now on where
        that was nothing, and in gaps too."""
        level = self.knowledge(tensor)
        if level == UNKNOWN:
            whole, level = span(tensor), ASSUMED
            kind = KINDS[tensor.dtype]
            self._at(tensor, (whole // tensor.element_size(),), (1,)).copy_(kind.default)
            self._know(tensor.data_ptr(), whole, level, kind.number)
        return self.of(tensor), level

    def overwritten(self, tensor: torch.Tensor) -> torch.Tensor:
        """The twin, all of which is to be written."""
        has_gaps = tensor.nbytes < span(tensor)
        return self.filled(tensor)[0] if has_gaps else self.of(tensor)

    def note(self, tensor: torch.Tensor, level: int) -> None:
        """Says what is known of a tensor that was written: of one with gaps no more than before,
        for they are another's."""
        whole = span(tensor)
        if tensor.nbytes < whole:
            level = min(level, self.knowledge(tensor))
        self._know(tensor.data_ptr(), whole, level, KINDS[tensor.dtype].number)

    def write(self, tensor: torch.Tensor, values: Any, level: int = KNOWN) -> None:
        """`values`, a tensor of the host or a number, as those of a tensor on the GPU."""
        twin = self.overwritten(tensor)
        if isinstance(values, torch.Tensor):
            twin.copy_(values)
        else:
            twin.fill_(values)
        self.note(tensor, level)

    def forget(self, tensor: torch.Tensor) -> None:
        if tensor.layout is torch.strided:
            self._know(tensor.data_ptr(), span(tensor), UNKNOWN, 0)
