"""Whose a line of Python is: torch's and ours, a library's, the script's."""

from __future__ import annotations

import linecache
import os
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import torch

INSIDE, LIBRARY, SCRIPT = range(3)

Line = tuple[str, int]  # a file, a line

_OURS = str(Path(__file__).parent)
_PYTHON = tuple(
    folder + os.sep
    for folder in {
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        sysconfig.get_path("scripts"),
    }
)
_TORCH = str(Path(torch.__file__).parent) + os.sep
# Code that torch.compile generates stands for the script's and its libraries' own.
_GENERATED = "torchinductor_"


class _Files(dict[str, int]):
    """Whose each is."""

    def __missing__(self, file: str) -> int:
        self[file] = kind = _whose(file)
        return kind


def _whose(file: str) -> int:
    if _GENERATED in file:
        return LIBRARY
    if file.startswith(("<", _OURS, _TORCH)):
        return INSIDE
    if "-packages" in file:
        return LIBRARY
    return INSIDE if file.startswith(_PYTHON) else SCRIPT


# INSIDE is torch, Python itself and the stand-in: no line of theirs explains anything.
whose = _Files()


def innermost(lines: Iterable[Line]) -> tuple[Line | None, Line | None]:
    """Of a stack, innermost first: the first line outside of torch, and the script's."""
    where = None
    for line in lines:
        kind = whose[line[0]]
        if kind != INSIDE and where is None:
            where = line
        if kind == SCRIPT:
            return where, line
    return where, None


def stack(frame: FrameType | None) -> list[Line]:
    """From a frame outwards to the script, without torch's."""
    lines = []
    while frame is not None:
        file = frame.f_code.co_filename
        kind = whose[file]
        if kind != INSIDE:
            lines.append((file, frame.f_lineno))
            if kind == SCRIPT:
                break
        frame = frame.f_back
    return lines


def text(line: Line | None) -> str:
    """What stands there; empty: nobody knows."""
    return linecache.getline(*line).strip() if line else ""


def told(line: Line | None) -> str:
    """As an answer names it; empty: nobody knows."""
    return f"{line[0]}:{line[1]}" if line else ""
