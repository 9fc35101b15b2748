"""Large tensors of the host whose numbers nobody computes: weights on their way to a GPU, what
comes back from one, what is read from checkpoints.

They are hollow: their memory is reserved and not written, so that it is never committed. An
initialiser leaves them as they are, and so does what computes large ones from them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_map

from vramfit.standin._door import Door
from vramfit.standin._ops import results, tensors_in

# Floating-point tensors of so many bytes hold nothing that a script branches on.
LARGE = 1 << 20

aten = torch.ops.aten

_META = torch.device("meta")


def _is_large(tensor: torch.Tensor) -> bool:
    return (
        tensor.numel() * tensor.element_size() >= LARGE
        and tensor.dtype.is_floating_point
        and not tensor.is_cuda
        and tensor.layout is torch.strided
    )


class _Saving(threading.local):
    """What a thread is about, that writes a file."""

    is_on = has_copied = False


class Hollows:
    """The process's hollow memory, and ops that would write it."""

    def __init__(self, door: Door) -> None:
        self._look_at_copies = door.look_at_copies
        self._bytes: dict[weakref.ref[torch.UntypedStorage], int] = {}
        self.bytes = self.peak = 0  # what a real run has written
        self._saving = _Saving()

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Meanwhile what is copied from a GPU is not read by the script, but written to a file;
        `has_copied` says whether anything was."""
        self._saving.is_on, self._saving.has_copied = True, False
        try:
            yield
        finally:
            self._saving.is_on = False

    @property
    def is_saving(self) -> bool:
        return self._saving.is_on

    @property
    def has_copied(self) -> bool:
        return self._saving.has_copied

    def copied(self) -> None:
        """From a GPU."""
        self._saving.has_copied = True

    def add(self, tensor: torch.Tensor, *, counted: bool = True) -> None:
        """`counted`: no file holds it, nor page-locked memory."""
        storage = tensor.untyped_storage()
        key = weakref.ref(storage, self._gone)
        if key not in self._bytes:
            self._bytes[key] = storage.nbytes() if counted else 0
            self.bytes += self._bytes[key]
            self.peak = max(self.peak, self.bytes)

    def _gone(self, storage: weakref.ref[torch.UntypedStorage]) -> None:
        self.bytes -= self._bytes.pop(storage, 0)

    def has(self, storage: torch.UntypedStorage) -> bool:
        return weakref.ref(storage) in self._bytes

    def _holds(self, tensor: torch.Tensor) -> bool:
        return _is_large(tensor) and self.has(tensor.untyped_storage())

    # Ways to run an op.

    def on_host(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, random: bool = False
    ) -> Any:
        """An op among tensors of the host. `random`: it draws numbers."""
        tensors = list(tensors_in((*args, *kwargs.values())))
        device = kwargs.get("device")
        if any(tensor.device.type != "cpu" for tensor in tensors) or (
            device is not None and torch.device(device).type != "cpu"
        ):
            return func(*args, **kwargs)  # of no memory
        constant = func is aten.fill_.Scalar or func is aten.zero_.default
        if (
            random
            or (constant and isinstance(args[0], torch.nn.Parameter))
            or any(map(self._holds, tensors))
        ):
            return self._left_out(func, args, kwargs)
        return func(*args, **kwargs)

    def moved(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A copy of a large tensor between host and GPU: none of its bytes is looked at."""
        makes = func is aten._to_copy.default
        source = args[0 if makes else 1]
        dtype = (kwargs.get("dtype") or source.dtype) if makes else args[0].dtype
        if not source.is_cuda and source.dtype is not dtype:  # the host would convert it
            source = torch.empty_like(source, dtype=dtype)
            args = (source, *args[1:]) if makes else (args[0], source, *args[2:])
        self._look_at_copies(False)
        try:
            result = func(*args, **kwargs)
        finally:
            self._look_at_copies(True)
        if result.device.type == "cpu" and result.nbytes == result.untyped_storage().nbytes():
            self.add(result, counted=not result.is_pinned())
        return result

    def pinned(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A copy of the host's in page-locked memory."""
        if not self._holds(args[0]):
            return func(*args, **kwargs)
        result = torch.empty_like(args[0], pin_memory=True)
        self.add(result, counted=False)
        return result

    def adopted(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A tensor over memory that no op filled: a file did, or another process."""
        result = func(*args, **kwargs)
        if isinstance(args[-1], torch.UntypedStorage) or len(args) > 2:
            storage = result.untyped_storage()
            if storage.device.type == "cpu" and storage.nbytes() >= LARGE:
                self.add(result, counted=False)
        return result

    def _left_out(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """As if it had run, where all that it gives is large: tensors of the right shape."""
        if not func._schema.returns:
            return self._left_out_in_place(func, args, kwargs)
        of: dict[int, torch.Tensor] = {}  # what tensors without memory stand for
        metas, keywords = tree_map(partial(_meta, of), (args, _on_meta(func, kwargs)))
        try:
            given = func(*metas, **keywords)
        except Exception:  # there is no such kernel
            return func(*args, **kwargs)
        outputs = results(given)
        if not outputs or not all(map(_is_large, outputs)):
            return func(*args, **kwargs)
        return tree_map(partial(self._made, of), given)

    def _left_out_in_place(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Into lists of tensors, which it does not return."""
        written = list(
            tensors_in(
                value
                for argument, value in zip(func._schema.arguments, args, strict=False)
                if argument.alias_info is not None and argument.alias_info.is_write
            )
        )
        if not all(map(_is_large, written)):
            return func(*args, **kwargs)
        for tensor in written:
            self.add(tensor)
        return None

    def _made(self, of: dict[int, torch.Tensor], given: Any) -> Any:
        if not isinstance(given, torch.Tensor):
            return given
        made = of.get(id(given))
        if made is None:
            made = torch.empty_strided(given.shape, given.stride(), dtype=given.dtype)
        self.add(made)
        return made


def _meta(of: dict[int, torch.Tensor], value: Any) -> Any:
    """Without memory; a generator has no such kind."""
    if isinstance(value, torch.Tensor):
        made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=_META)
        of[id(made)] = value
        return made
    if isinstance(value, torch.device):
        return _META
    return None if isinstance(value, torch.Generator) else value


def _on_meta(func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    keywords = {key: value for key, value in kwargs.items() if key != "pin_memory"}
    if any(argument.name == "device" for argument in func._schema.arguments):
        keywords["device"] = _META
    return keywords
