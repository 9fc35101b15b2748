"""Checkpoints of a run whose numbers nobody computes: files of their true sizes, with holes where
weights would be. They can be read back, and are gone when the process ends. What was there before
stays as it is.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from vramfit.standin._host import LARGE, Hollows
from vramfit.standin._imports import when_imported

_NOWHERE = os.devnull

# What save_pretrained writes beside weights, of models and adapters.
_OF_MODELS = ("config.json", "adapter_config.json")


class Checkpoints:
    """What the process and those forked from it write of PyTorch's files, and of safetensors'."""

    def __init__(self, hollows: Hollows, folder: Path) -> None:
        """`folder`: its own, which they share."""
        self._hollows = hollows
        self._folder = folder.resolve()
        self._begun = folder.stat().st_mtime
        self._written, self._kept = folder / "written", folder / "kept"

    def told(self) -> dict[str, list[str]]:
        """Files that the script wrote of numbers that nobody computed, and those that it would have
        written over."""
        written = [file for file in _lines(self._written) if self._folder not in Path(file).parents]
        return {"written": written, "kept": _lines(self._kept)}

    def remove(self) -> None:
        """Files with holes; and what lies beside them, of a model's folder that is new."""
        files = [Path(line) for line in _lines(self._written)]
        for file in files:
            file.unlink(missing_ok=True)
        for folder in {file.parent for file in files}:
            if any((folder / name).exists() for name in _OF_MODELS) and self._is_new(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def _is_new(self, folder: Path) -> bool:
        return not any(map(self._was_there, folder.rglob("*")))

    def place(self, file: str) -> str:
        """Where to write what the script writes there."""
        path = Path(file).resolve()
        if path.exists() and not path.is_file():
            return file  # none that anybody keeps: a pipe, a device
        if self._was_there(path):
            _add(self._kept, str(path))
            return _NOWHERE
        return file

    def add(self, file: str) -> None:
        """Numbers that nobody computed are in it."""
        if file != _NOWHERE:
            _add(self._written, os.path.realpath(file))

    def wrote(self, file: str) -> bool:
        return os.path.realpath(file) in _lines(self._written)

    def left_alone(self, folder: Any) -> bool:
        """Whether checkpoints are in it that were there before."""
        return any(
            self._was_there(file)
            for pattern in ("*.safetensors", "*.bin", "*.pt", "*.pth")
            for file in Path(os.fsdecode(folder)).rglob(pattern)
        )

    def _was_there(self, file: Path) -> bool:
        return file.is_file() and file.stat().st_mtime < self._begun

    # How torch and safetensors write and read.

    def attend(self) -> None:
        """From now on, for as long as the process lives."""
        serialization = torch.serialization
        opener = serialization._open_zipfile_writer

        @functools.wraps(opener)
        def opened(file: Any) -> Any:
            if not isinstance(file, str):
                return _Writer(opener(file), self._hollows, lambda: None)
            place = self.place(file)
            return _Writer(opener(place), self._hollows, lambda: self.add(place))

        serialization._open_zipfile_writer = opened
        load = torch.load

        @functools.wraps(load)
        def loaded(file: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(file, (str, os.PathLike)) and self.wrote(os.fspath(file)):
                kwargs["mmap"] = True  # its holes take no memory
            return load(file, *args, **kwargs)

        torch.load = serialization.load = loaded
        when_imported("safetensors.torch", self._write_safetensors)

        rmtree = shutil.rmtree

        @functools.wraps(rmtree)
        def removed(path: Any, *args: Any, **kwargs: Any) -> None:
            if isinstance(path, (str, bytes, os.PathLike)) and self.left_alone(path):
                _add(self._kept, os.path.realpath(os.fsdecode(path)))
            else:
                rmtree(path, *args, **kwargs)

        shutil.rmtree = removed  # type: ignore[assignment]

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
            place = self.place(os.fspath(file))
            if place == _NOWHERE:
                return
            if getattr(specs, "hollow", None):
                _write(Path(place), specs, metadata)
            else:
                serialize(specs, place, metadata=metadata)
            if getattr(specs, "is_made_up", False):
                self.add(place)

        module._flatten_as_ptr, module.serialize_file = flattened, serialized


class _Specs(dict[str, Any]):
    """Of a safetensors file's tensors, and the names of those that are hollow."""

    def __init__(self, specs: dict[str, Any], hollow: set[str], *, of_gpu: bool) -> None:
        super().__init__(specs)
        self.hollow = hollow
        self.is_made_up = of_gpu or bool(hollow)


def _write(file: Path, specs: _Specs, metadata: dict[str, str] | None) -> None:
    """As safetensors lays a file out, but for what is hollow."""
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, spec in specs.items():
        header[name] = {
            "dtype": spec.dtype,
            "shape": list(spec.shape),
            "data_offsets": [end, end + spec.data_len],
        }
        end += spec.data_len
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for name, spec in specs.items():
            if name in specs.hollow:
                out.seek(spec.data_len, os.SEEK_CUR)
            elif spec.data_len:
                out.write((ctypes.c_char * spec.data_len).from_address(spec.data_ptr))
        out.truncate(8 + len(text) + end)


class _Writer:
    """PyTorch's writer of its files, opened; hollow storages are holes in them."""

    def __init__(self, opener: Any, hollows: Hollows, made_up: Callable[[], None]) -> None:
        """`made_up` is called at the end, where numbers that nobody computed were written."""
        self._opener, self._hollows, self._made_up = opener, hollows, made_up
        self._has_holes = False

    def __enter__(self) -> _Writer:
        self._file = self._opener.__enter__()
        self._saving = self._hollows.saving()
        self._saving.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._saving.__exit__(*error)
        self._opener.__exit__(*error)
        if self._has_holes or self._hollows.has_copied:
            self._made_up()

    def write_record(self, name: str, data: Any, size: int) -> None:
        hollow = isinstance(data, torch.UntypedStorage) and self._hollows.has(data)
        if hollow and size >= LARGE:
            self._has_holes = True
            self._file.write_record_metadata(name, size)
        else:
            self._file.write_record(name, data, size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def _add(file: Path, line: str) -> None:
    if line not in _lines(file):
        with file.open("a") as out:
            out.write(line + "\n")
