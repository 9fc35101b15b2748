"""What Python's own functions would do to checkpoints that were there before is not done. What they
do to the run's own files is noted.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from vramfit.standin._files import FOLDER, GONE, KEPT, MADE_UP, REAL, Files

# Whose files these are tells their name; .bin is many things, and only in folders taken for one.
_OF_CHECKPOINTS = (".pt", ".pth", ".pth.tar", ".ckpt", ".safetensors", ".distcp", ".metadata")

Function = Callable[..., Any]


class Guards:
    """Over os, shutil and open, for as long as the process lives."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def attend(self) -> None:
        for name, guarded in (
            ("mkdir", self._making),
            ("rename", self._moving),
            ("replace", self._moving),
            ("link", self._copying),
            ("remove", self._removing),
            ("unlink", self._removing),
        ):
            _wrap(os, name, guarded)
        _wrap(shutil, "copyfile", self._copying)
        _wrap(shutil, "rmtree", self._removing_all)
        _wrap(io, "open", self._opening)
        builtins.open = io.open

    def _stays(self, file: Any) -> bool:
        """Whether it is a checkpoint that was there before; it is told where it is."""
        return _is_checkpoint(file) and self._is_kept(file)

    def _is_kept(self, file: Any) -> bool:
        kept = self._files.is_from_before(file)
        if kept:
            self._files.note(file, KEPT)
        return kept

    def _may_not_go(self, source: Any, to: Any) -> bool:
        if self._files.state(source) == MADE_UP:
            return self._is_kept(to)
        return self._stays(to)

    # Of one function each, what is called in its place.

    def _making(self, mkdir: Function) -> Function:
        def made(path: Any, *args: Any, **kwargs: Any) -> None:
            mkdir(path, *args, **kwargs)
            if _names(path, **kwargs):
                self._files.note(path, FOLDER)

        return made

    def _moving(self, move: Function) -> Function:
        def moved(source: Any, to: Any, **kwargs: Any) -> None:
            if not _names(source, to, **kwargs):
                move(source, to, **kwargs)
            elif self._stays(source):
                return
            elif not self._may_not_go(source, to):
                move(source, to, **kwargs)
                self._files.moved(source, to)
            elif self._files.state(source) == MADE_UP:
                Path(os.fsdecode(source)).unlink()
                self._files.note(source, GONE)

        return moved

    def _copying(self, copy: Function) -> Function:
        def copied(source: Any, to: Any, **kwargs: Any) -> Any:
            if not _names(source, to, **kwargs):
                return copy(source, to, **kwargs)
            if self._may_not_go(source, to):
                return to
            is_new = not Path(os.fsdecode(to)).exists()
            result = copy(source, to, **kwargs)
            if self._files.state(source) == MADE_UP:
                self._files.note(to, MADE_UP)
            elif is_new:
                self._files.note(to, REAL)
            return result

        return copied

    def _removing(self, remove: Function) -> Function:
        def removed(path: Any, **kwargs: Any) -> None:
            if not (_names(path, **kwargs) and self._stays(path)):
                remove(path, **kwargs)

        return removed

    def _removing_all(self, rmtree: Function) -> Function:
        def removed(path: Any, *args: Any, **kwargs: Any) -> None:
            if _names(path, **kwargs) and any(map(self._files.is_from_before, _weights_in(path))):
                self._files.note(path, KEPT)
            else:
                rmtree(path, *args, **kwargs)

        return removed

    def _opening(self, opener: Function) -> Function:
        def opened(file: Any, mode: Any = "r", *args: Any, **kwargs: Any) -> Any:
            if "w" not in mode or not (_names(file) and _is_checkpoint(file)):
                return opener(file, mode, *args, **kwargs)
            if self._stays(file):
                return opener(os.devnull, mode, *args, **kwargs)
            result = opener(file, mode, *args, **kwargs)
            if self._files.state(file) != MADE_UP:
                self._files.note(file, REAL)
            return result

        return opened


def _wrap(module: Any, name: str, guarded: Callable[[Function], Function]) -> None:
    function = getattr(module, name)
    wrapped = functools.wraps(function)(guarded(function))
    # What carries attributes of its own, as shutil.rmtree.avoids_symlink_attacks, keeps them.
    setattr(module, name, wrapped)
    accessor = getattr(pathlib, "_NormalAccessor", None)  # Python 3.10 has bound them by then
    if accessor is not None and getattr(accessor, name, None) is function:
        setattr(accessor, name, staticmethod(wrapped))


def _names(*files: Any, **kwargs: Any) -> bool:
    """Whether these are names of files by themselves, in no folder that is open."""
    return all(isinstance(file, (str, bytes, os.PathLike)) for file in files) and all(
        value is None for key, value in kwargs.items() if key.endswith("dir_fd")
    )


def _is_checkpoint(file: Any) -> bool:
    return os.fsdecode(file).endswith(_OF_CHECKPOINTS)


def _weights_in(folder: Any) -> Iterator[Path]:
    for place, _, names in os.walk(os.fsdecode(folder)):
        for name in names:
            if _is_checkpoint(name) or name.endswith(".bin"):
                yield Path(place, name)
