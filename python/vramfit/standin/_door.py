"""The stand-in's own library, standin/module/door.h, by ctypes."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

UNKNOWN, ASSUMED, KNOWN = range(3)  # what is known of bytes
ANY_KIND = 3  # integers or floating-point numbers


class StandInError(RuntimeError):
    """The stand-in cannot stand in; its one line says why."""


class Door:
    """One a process: what it is made of is never given back."""

    def __init__(self, library: Path) -> None:
        if not library.exists():
            raise StandInError("this vramfit has no stand-in: it is built on Linux on x86-64 alone")
        try:
            loaded = ctypes.CDLL(str(library))
        except OSError as error:  # of an older C library, for one
            if "musl" in str(sysconfig.get_config_var("SOABI")):
                raise StandInError(
                    f"{sys.executable} is built for musl (Alpine), for which there is no PyTorch "
                    "with CUDA: an image with glibc (Debian, Ubuntu) has one"
                ) from None
            raise StandInError(f"{sys.executable} cannot load the stand-in: {error}") from None
        text, word, place = ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64

        def function(name: str, result: Any, *arguments: Any) -> Any:
            found = getattr(loaded, f"vramfit_standin_{name}")
            found.restype, found.argtypes = result, arguments
            return found

        self._start = function("start", text, text)
        self._load = function("load", text, text, text)
        self._soname = function("soname", text, text)
        self._report = function("report", text)
        self._kernels = function("kernels", text)
        self._tell_cudnn_version = function("tell_cudnn_version", None, place)
        self.twin_distance: int = function("twin_distance", place)()
        self.know = function("know", None, place, place, word, word)
        self.known = function("known", word, place, place, word)
        self.forget_floats = function("forget_floats", None)
        self.look_at_copies = function("look_at_copies", None, word)
        self.next_read = function("next_read", None, ctypes.c_int64)
        self.no_more_reads = function("no_more_reads", None)
        number = ctypes.c_int64
        self.outlier_columns = function(
            "outlier_columns", number, text, word, number, number, number, ctypes.c_double
        )
        self.reset_peak = function("reset_peak", None, word)

    def start(self, facts: str) -> None:
        """Makes the machine of these facts, JSON as standin/card/facts.h reads it."""
        self._done(self._start(facts.encode()))

    def load(self, files: Iterable[Path], folder: Path) -> None:
        """Stands in for what these files want of NVIDIA's libraries, before they are loaded."""
        error = self._load("\n".join(map(str, files)).encode(), str(folder).encode())
        if error.startswith(b"cannot write"):
            raise StandInError(f"{error.decode()}: set TMPDIR to a folder that has room")
        if error and os.statvfs(folder).f_flag & os.ST_NOEXEC:
            raise StandInError(
                f"{folder.parent} is mounted noexec, so that no library is loaded from it: set "
                "TMPDIR to a folder that is not"
            )
        self._done(error)

    def tell_cudnn_version(self, major: int, minor: int, patch: int) -> None:
        """cuDNN is of that release, from now on."""
        self._tell_cudnn_version(major * 10_000 + minor * 100 + patch)

    def soname(self, file: str) -> str:
        """Of what stands in for the library that this file is; empty where it is not NVIDIA's."""
        soname: bytes = self._soname(file.encode())
        return soname.decode()

    def report(self) -> dict[str, Any]:
        """What there is to tell so far."""
        told: dict[str, Any] = json.loads(self._report())
        return told

    def kernels(self) -> dict[str, int]:
        """How often each kernel was launched so far, by its name."""
        told: dict[str, int] = json.loads(self._kernels())
        return told

    @staticmethod
    def _done(error: bytes) -> None:
        if error:
            raise StandInError(error.decode())
