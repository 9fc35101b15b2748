"""Ops whose results' sizes are values: how many numbers differ, how often each is repeated.

The op itself runs as it does, and reads a count off the GPU. Before it runs the stand-in is told
what it will read. What counts by nonzero needs none of it (standin/kernels/counts.h), but where
what is counted is not as it lies in memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from vramfit.standin._door import UNKNOWN
from vramfit.standin._handlers import Handler, Known
from vramfit.standin._twins import is_kept, is_small


def expecting(values: Known, reads: list[int], run: Callable[[], Any]) -> Any:
    """Runs it; what it reads off the GPU are these, in order."""
    for value in reads:
        values.door.next_read(value)
    try:
        return run()
    finally:
        values.door.no_more_reads()


def _repeat_interleave(
    values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    repeats = args[0]
    if not repeats.is_cuda or kwargs.get("output_size") is not None:
        return values.repeated(func, args, kwargs)
    reads = [int(values.read(repeats).sum()), 1]  # and that none is negative
    return expecting(values, reads, lambda: values.repeated(func, args, kwargs))


def _counted_by_host(
    values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """unique and its kin: as many as the host finds."""
    tensor = args[0]
    if not tensor.is_cuda:
        return func(*args, **kwargs)
    if not is_small(tensor):
        values.reads["how many different values only a GPU computes: all differ"] += 1
        reads = [tensor.numel()]
    else:
        host = func(values.read(tensor), *args[1:], **kwargs)
        first = host[0] if isinstance(host, tuple) else host
        dim = args[1] if func._schema.name == "aten::unique_dim" else 0
        reads = [first.shape[dim]]
    return expecting(values, reads, lambda: values.repeated(func, args, kwargs))


def _coalesce(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    if not tensor.is_cuda:
        return func(*args, **kwargs)
    values.reads["which elements of a sparse tensor coincide only a GPU computes: none"] += 1
    return expecting(values, [tensor._nnz()], lambda: values.not_repeated(func, args, kwargs))


def _bincount(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """It reads the least, which must not be negative, and the greatest."""
    tensor = args[0]
    if not tensor.is_cuda or not is_small(tensor) or tensor.numel() == 0:
        return values.repeated(func, args, kwargs)
    twin = values.read(tensor)
    reads = [int(twin.min()), int(twin.max())]
    return expecting(values, reads, lambda: values.repeated(func, args, kwargs))


SIZED: dict[str, Handler] = {
    "repeat_interleave": _repeat_interleave,
    "_unique": _counted_by_host,
    "_unique2": _counted_by_host,
    "unique_dim": _counted_by_host,
    "unique_consecutive": _counted_by_host,
    "bincount": _bincount,
    "_coalesce": _coalesce,
}


class NonZero:
    """PyTorch's own kernel, which masks are counted by, backward and within other ops too. It
    copies what has gaps or repeats, as expand() makes it, and counts in the copy, of which nobody
    knows anything."""

    def __init__(self, values: Known) -> None:
        self._values = values
        self._kernel = torch.library.get_kernel("aten::nonzero", "CUDA")
        self._library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there is one kernel already
            self._library.impl("nonzero", self, "CUDA", with_keyset=True, allow_override=True)

    def __call__(self, keys: Any, tensor: torch.Tensor) -> torch.Tensor:
        def run() -> Any:
            return self._kernel.call_boxed(keys, tensor)

        twins = self._values.twins
        if tensor.is_contiguous() or not is_kept(tensor) or twins.knowledge(tensor) == UNKNOWN:
            return run()
        return expecting(self._values, [_count(twins.of(tensor))], run)


def _count(tensor: torch.Tensor) -> int:
    """Of numbers that are not zero. What repeats is counted once, and multiplied."""
    repeats = 1
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if stride == 0 and size > 0:
            tensor = tensor.narrow(dim, 0, 1)
            repeats *= size
    return int(tensor.count_nonzero()) * repeats
