"""Ops whose results' sizes are values: how many rows a mask takes, how many numbers differ.

The op itself runs as it does, and reads a count off the GPU. Before it runs the stand-in is told what
it will read; a mask of which nothing is known takes all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from vramfit.standin._door import UNKNOWN
from vramfit.standin._twins import is_small

if TYPE_CHECKING:
    from vramfit.standin._values import Values

Handler = Callable[["Values", Any, tuple[Any, ...], dict[str, Any]], Any]


def _rows(values: Values, mask: torch.Tensor) -> int:
    """How many elements are not zero."""
    if not is_small(mask) or values.twins.knowledge(mask) == UNKNOWN:
        values.reads["rows of a mask that only a GPU computes: all of them"] += 1
        return mask.numel()
    return int(torch.count_nonzero(values.read(mask)))


def _expecting(values: Values, reads: list[int], run: Callable[[], Any]) -> Any:
    for value in reads:
        values.door.next_read(value)
    try:
        return run()
    finally:
        values.door.no_more_reads()


def _nonzero(values: Values, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    mask = args[0]
    if not mask.is_cuda:
        return func(*args, **kwargs)
    reads = [_rows(values, mask)]
    result = _expecting(values, reads, lambda: func(*args, **kwargs))
    if is_small(mask):
        twin, level = values.twins.filled(mask)
        places = twin.nonzero()
        if places.shape == result.shape:
            values.twins.write(result, places, level)
            return result
    values.twins.forget(result)
    return result


def _masks(indices: Any) -> list[torch.Tensor]:
    return [
        index
        for index in indices
        if isinstance(index, torch.Tensor)
        and index.is_cuda
        and index.dtype in (torch.bool, torch.uint8)
    ]


def _indexed(values: Values, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """index, index_put and the like: of each mask the places are counted."""
    reads = [_rows(values, mask) for mask in _masks(args[1])]
    return _expecting(values, reads, lambda: values.repeated(func, args, kwargs))


def _masked_select(values: Values, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, mask = args[:2]
    if not mask.is_cuda:
        return func(*args, **kwargs)
    whole = torch.broadcast_shapes(tensor.shape, mask.shape).numel()
    reads = [_rows(values, mask) * (whole // max(mask.numel(), 1))]
    return _expecting(values, reads, lambda: values.repeated(func, args, kwargs))


def _repeat_interleave(
    values: Values, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    repeats = args[0]
    if not repeats.is_cuda or kwargs.get("output_size") is not None:
        return values.repeated(func, args, kwargs)
    reads = [int(values.read(repeats).sum())]
    return _expecting(values, reads, lambda: values.repeated(func, args, kwargs))


def _counted_by_host(
    values: Values, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
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
    return _expecting(values, reads, lambda: values.repeated(func, args, kwargs))


def _bincount(values: Values, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """It reads the least, which must not be negative, and the greatest."""
    tensor = args[0]
    if not tensor.is_cuda or not is_small(tensor) or tensor.numel() == 0:
        return values.repeated(func, args, kwargs)
    twin = values.read(tensor)
    reads = [int(twin.min()), int(twin.max())]
    return _expecting(values, reads, lambda: values.repeated(func, args, kwargs))


SIZED: dict[str, Handler] = {
    "nonzero": _nonzero,
    "index": _indexed,
    "index_put": _indexed,
    "index_put_": _indexed,
    "_index_put_impl_": _indexed,
    "_unsafe_index": _indexed,
    "_unsafe_index_put": _indexed,
    "masked_select": _masked_select,
    "repeat_interleave": _repeat_interleave,
    "_unique": _counted_by_host,
    "_unique2": _counted_by_host,
    "unique_dim": _counted_by_host,
    "unique_consecutive": _counted_by_host,
    "bincount": _bincount,
}
