"""Safetensors files whose numbers nobody computed: a header, and a hole in the place of each tensor
(https://huggingface.co/docs/safetensors, "Format").
"""

from __future__ import annotations

import errno
import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit.standin._door import StandInError

# Bits of a number, of every type that the format has.
_BITS = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8"), 8),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}


@dataclass(frozen=True)
class Stored:
    """A tensor of a file. `dtype`: as the format spells it, F8_E4M3; `data`: its bytes, in anything
    that has a buffer, and None where they are a hole.

    Raises ValueError where no file has such a tensor."""

    dtype: str
    shape: tuple[int, ...]
    data: Any = None

    def __post_init__(self) -> None:
        if self.dtype not in _BITS:
            raise ValueError(f"a tensor of the type {self.dtype!r}")
        if any(type(size) is not int or size < 0 for size in self.shape):
            raise ValueError(f"a tensor of the shape {list(self.shape)}")

    @property
    def nbytes(self) -> int:
        return -(-math.prod(self.shape) * _BITS[self.dtype] // 8)


Tensors = dict[str, Stored]


def write(file: Path, tensors: Mapping[str, Stored], metadata: dict[str, str] | None) -> None:
    """Raises OSError where that has no room, or where no file has so many bytes."""
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    if end > sys.maxsize:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    with file.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            if tensor.data is None:
                out.seek(tensor.nbytes, os.SEEK_CUR)
            elif tensor.nbytes:
                out.write(tensor.data)
        out.truncate(8 + len(text) + end)


def read(file: Path) -> Tensors:
    """Its header: of all tensors the kind, of none the bytes. The file may end behind the header.

    Raises StandInError where there is no such header.
    """
    return _header(file)[0]


def is_cut(file: Path) -> bool:
    """Whether it ends before its numbers do. Raises StandInError as read() does."""
    tensors, begin = _header(file)
    return file.stat().st_size < begin + sum(tensor.nbytes for tensor in tensors.values())


def _header(file: Path) -> tuple[Tensors, int]:
    """And where the numbers begin."""
    with file.open("rb") as source:
        length = int.from_bytes(source.read(8), "little")
        text = source.read(min(length, file.stat().st_size))
    if not length or len(text) < length:
        raise StandInError(f"{file} ends within its header: it is to have {8 + length:,} bytes")
    try:
        told = json.loads(text)
        told.pop("__metadata__", None)
        tensors = {name: Stored(of["dtype"], tuple(of["shape"])) for name, of in told.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise StandInError(
            f"{file} does not begin as safetensors' files do: {in_a_line(error)}"
        ) from None
    return tensors, 8 + length


def in_a_line(error: Exception) -> str:
    return f"{type(error).__name__}, {' '.join(str(error).split())[:200]}"
