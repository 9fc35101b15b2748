"""Checkpoints of a run whose numbers nobody computes: files of their true sizes, with holes where
weights would be. They can be read back, and are gone when the run ends. What was there before stays
as it is.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from vramfit.standin._files import KEPT, MADE_UP, REAL, Files
from vramfit.standin._host import LARGE, Hollows
from vramfit.standin._imports import when_imported
from vramfit.standin._safetensors import Stored, write

_NOWHERE = os.devnull


class Checkpoints:
    """What the process and those forked from it write of PyTorch's files, and of safetensors'."""

    def __init__(self, hollows: Hollows, files: Files) -> None:
        self._hollows, self._files = hollows, files

    def _place(self, file: str) -> str:
        """Where to write what the script writes there."""
        path = Path(file)
        if path.exists() and not path.is_file():
            return file  # none that anybody keeps: a pipe, a device
        if self._files.is_from_before(file):
            self._files.note(file, KEPT)
            return _NOWHERE
        self._files.note(file, MADE_UP)  # until it is whole
        return file

    def _wrote(self, file: str, *, made_up: bool) -> None:
        if self._files.state(file) == MADE_UP and not made_up:
            self._files.note(file, REAL)

    # How torch and safetensors write and read.

    def attend(self) -> None:
        """From now on, for as long as the process lives."""
        serialization = torch.serialization
        opener, save, load = serialization._open_zipfile_writer, torch.save, torch.load
        arguments = inspect.signature(save)

        @functools.wraps(opener)
        def opened(file: Any) -> Any:
            if isinstance(file, str):
                file = self._place(file)
                wrote = functools.partial(self._wrote, file)
            else:
                wrote = functools.partial(self._wrote_to, _new_file(file))
            return _Writer(opener(file), self._hollows, wrote, has_holes=_is_a_file(file))

        serialization._open_zipfile_writer = opened

        @functools.wraps(save)
        def saved(*args: Any, **kwargs: Any) -> None:
            call = arguments.bind(*args, **kwargs)
            if _is_a_file(call.arguments["f"]):
                # The format before has no place for holes; torch.load takes either.
                call.arguments["_use_new_zipfile_serialization"] = True
            save(*call.args, **call.kwargs)

        torch.save = serialization.save = saved

        @functools.wraps(load)
        def loaded(file: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(file, (str, os.PathLike)) and self._files.state(file) == MADE_UP:
                kwargs["mmap"] = True  # its holes take no memory
            return load(file, *args, **kwargs)

        torch.load = serialization.load = loaded
        when_imported("safetensors.torch", self._write_safetensors)

    def _wrote_to(self, file: str | None, *, made_up: bool) -> None:
        """A file object of the script's."""
        if made_up and file is not None:
            self._files.note(file, MADE_UP)
        elif made_up:
            self._files.note_buffer()

    def _write_safetensors(self, module: Any) -> None:
        if not hasattr(module, "_flatten_as_ptr"):
            return  # an earlier release, whose tensors are copied before they are written
        flatten, serialize = module._flatten_as_ptr, module.serialize_file

        @functools.wraps(flatten)
        def flattened(tensors: dict[str, torch.Tensor], keep: list[Any]) -> Any:
            with self._hollows.saving():
                specs = flatten(tensors, keep)
            hosts = [host for _, host in keep[-len(specs) :]] if specs else []
            hollow = {
                name
                for name, host in zip(specs, hosts, strict=True)
                if isinstance(host, torch.Tensor)
                and host.nbytes >= LARGE
                and self._hollows.has(host.untyped_storage())
            }
            return _Specs(specs, hollow, of_gpu=self._hollows.has_copied)

        @functools.wraps(serialize)
        def serialized(specs: Any, file: Any, metadata: dict[str, str] | None = None) -> None:
            place = self._place(os.fspath(file))
            if place == _NOWHERE:
                return
            if getattr(specs, "hollow", None):
                stored = {name: _stored(name, spec, specs.hollow) for name, spec in specs.items()}
                write(Path(place), stored, metadata)
            else:
                serialize(specs, place, metadata=metadata)
            self._wrote(place, made_up=getattr(specs, "is_made_up", False))

        module._flatten_as_ptr, module.serialize_file = flattened, serialized


class _Specs(dict[str, Any]):
    """Of a safetensors file's tensors, and the names of those that are hollow."""

    def __init__(self, specs: dict[str, Any], hollow: set[str], *, of_gpu: bool) -> None:
        super().__init__(specs)
        self.hollow = hollow
        self.is_made_up = of_gpu or bool(hollow)


def _stored(name: str, spec: Any, hollow: set[str]) -> Stored:
    holds = (ctypes.c_char * spec.data_len).from_address(spec.data_ptr)
    return Stored(spec.dtype, tuple(spec.shape), None if name in hollow else holds)


class _Writer:
    """PyTorch's writer of its files, opened; hollow storages are holes in them."""

    def __init__(
        self, opener: Any, hollows: Hollows, wrote: Callable[..., None], *, has_holes: bool
    ) -> None:
        """`wrote` is called at the end; `made_up`: numbers that nobody computed, too. `has_holes`:
        what it is written to can have some."""
        self._opener, self._hollows, self._wrote = opener, hollows, wrote
        self._can_have_holes, self._is_hollow = has_holes, False

    def __enter__(self) -> _Writer:
        self._file = self._opener.__enter__()
        self._saving = self._hollows.saving()
        self._saving.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._saving.__exit__(*error)
        self._opener.__exit__(*error)
        failed = error[0] is not None
        self._wrote(made_up=failed or self._is_hollow or self._hollows.has_copied)

    def write_record(self, name: str, data: Any, size: int) -> None:
        hollow = isinstance(data, torch.UntypedStorage) and self._hollows.has(data)
        self._is_hollow |= hollow
        if hollow and size >= LARGE and self._can_have_holes:
            self._file.write_record_metadata(name, size)
        else:
            self._file.write_record(name, data, size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _is_a_file(file: Any) -> bool:
    """Whether it is a file's name, or an object over one in which one can go ahead."""
    if isinstance(file, (str, os.PathLike)):
        return True
    try:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode) and bool(file.seekable())
    except (AttributeError, OSError, ValueError):
        return False


def _new_file(file: Any) -> str | None:
    """The name of the file that this object is over, if nothing is in it yet."""
    if not _is_a_file(file) or os.fstat(file.fileno()).st_size > 0:
        return None
    path = Path(f"/proc/self/fd/{file.fileno()}").readlink()
    return str(path) if path.is_file() else None
