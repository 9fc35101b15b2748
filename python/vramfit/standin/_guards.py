"""What Python's own functions would do to checkpoints that were there before is not done. What they
do to the run's own files is noted.
"""

from __future__ import annotations

import functools
import io
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from vramfit.standin._files import FOLDER, GONE, KEPT, MADE_UP, OPENED, REAL, Files

# Whose files these are tells their name. What else ends in .bin is many things, and taken for one
# only in a folder that is removed.
_OF_CHECKPOINTS = re.compile(
    r".*\.(pt|pth|pth\.tar|ckpt|safetensors|distcp|metadata)"
    r"|(pytorch_model|adapter_model|diffusion_pytorch_model|model|optimizer).*\.bin"
)

# Where functions of os and io come from.
_THEIR_OWN = ("posix", "_io")

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
            ("symlink", self._pointing),
            ("remove", self._removing),
            ("unlink", self._removing),
        ):
            _wrap(os, name, guarded)
        _wrap(shutil, "copyfile", self._copying)
        _wrap(shutil, "rmtree", self._removing_all)
        _wrap(io, "open", self._opening)

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
            named = _names(path, **kwargs)
            if named and self._files.state(path) == KEPT and Path(os.fsdecode(path)).is_dir():
                return  # the script has removed it, as far as it knows
            mkdir(path, *args, **kwargs)
            if named:
                self._files.note(path, FOLDER)

        return made

    def _moving(self, move: Function) -> Function:
        def moved(src: Any, dst: Any, **kwargs: Any) -> None:
            if not _names(src, dst, **kwargs):
                move(src, dst, **kwargs)
            elif self._stays(src):
                return
            elif not self._may_not_go(src, dst):
                move(src, dst, **kwargs)
                self._files.moved(src, dst)
            elif self._files.state(src) in (MADE_UP, OPENED, REAL):
                Path(os.fsdecode(src)).unlink()
                self._files.note(src, GONE)

        return moved

    def _copying(self, copy: Function) -> Function:
        def copied(src: Any, dst: Any, **kwargs: Any) -> Any:
            if not _names(src, dst, **kwargs):
                return copy(src, dst, **kwargs)
            if self._may_not_go(src, dst):
                return dst
            is_new = not Path(os.fsdecode(dst)).exists()
            result = copy(src, dst, **kwargs)
            if self._files.state(src) == MADE_UP:
                self._files.note(dst, MADE_UP)
            elif is_new and not self._files.is_from_before(src):  # a link to it is the same file
                self._files.note(dst, REAL)
            return result

        return copied

    def _pointing(self, symlink: Function) -> Function:
        def pointed(src: Any, dst: Any, *args: Any, **kwargs: Any) -> None:
            stays = _names(dst, **kwargs) and self._files.state(dst) == KEPT
            if not (stays and Path(os.fsdecode(dst)).is_symlink()):
                symlink(src, dst, *args, **kwargs)

        return pointed

    def _removing(self, remove: Function) -> Function:
        def removed(path: Any, **kwargs: Any) -> None:
            named = _names(path, **kwargs)
            if named and self._stays(path):
                return
            is_link = named and Path(os.fsdecode(path)).is_symlink()
            remove(path, **kwargs)
            if named and not is_link:
                self._files.removed(path)

        return removed

    def _removing_all(self, rmtree: Function) -> Function:
        def removed(path: Any, *args: Any, **kwargs: Any) -> None:
            if _names(path, **kwargs) and any(map(self._files.is_from_before, _weights_in(path))):
                self._files.note(path, KEPT)
            else:
                rmtree(path, *args, **kwargs)
                if _names(path, **kwargs):
                    self._files.removed(path)

        return removed

    def _opening(self, opener: Function) -> Function:
        def opened(file: Any, mode: Any = "r", *args: Any, **kwargs: Any) -> Any:
            if mode[:1] not in {"w", "x"} or not (_names(file) and _is_checkpoint(file)):
                return opener(file, mode, *args, **kwargs)
            if self._stays(file):
                place = self._files.nowhere()
                result = opener(place, mode.replace("x", "w"), *args, **kwargs)
                place.unlink()
                return result
            result = opener(file, mode, *args, **kwargs)
            if self._files.state(file) != MADE_UP:
                self._files.note(file, OPENED)
            return result

        return opened


class _Builtin:
    """Stands for a function: like those of C, it is no method where a class has it."""

    def __init__(self, function: Function, instead: Function) -> None:
        self._instead = instead
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._instead(*args, **kwargs)


def _wrap(module: Any, name: str, guarded: Callable[[Function], Function]) -> None:
    """Also where it has been imported from there already, open as a builtin among them."""
    function = getattr(module, name)
    wrapped = _Builtin(function, guarded(function))
    for other in [module, *sys.modules.values()]:
        for key, value in list(getattr(other, "__dict__", {}).items()):
            if value is function and getattr(other, "__name__", "") not in _THEIR_OWN:
                setattr(other, key, wrapped)
    for known in (os.supports_dir_fd, os.supports_follow_symlinks):
        if function in known:
            known.add(wrapped)
    accessor = getattr(pathlib, "_NormalAccessor", None)  # Python 3.10 has bound them by then
    if accessor is not None and getattr(accessor, name, None) is function:
        setattr(accessor, name, staticmethod(wrapped))


def _names(*files: Any, **kwargs: Any) -> bool:
    """Whether these are names of files by themselves, in no folder that is open."""
    return all(isinstance(file, (str, bytes, os.PathLike)) for file in files) and all(
        value is None for key, value in kwargs.items() if key.endswith("dir_fd")
    )


def _is_checkpoint(file: Any) -> bool:
    return _OF_CHECKPOINTS.fullmatch(Path(os.fsdecode(file)).name) is not None


def _weights_in(folder: Any) -> Iterator[Path]:
    for place, _, names in os.walk(os.fsdecode(folder)):
        for name in names:
            if _is_checkpoint(name) or name.endswith(".bin"):
                yield Path(place, name)
