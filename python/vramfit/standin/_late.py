"""Libraries that are loaded after torch: extension modules, and what ctypes loads.

They want functions of NVIDIA's that torch does not, or those libraries themselves.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from vramfit.standin._door import Door


def stand_in_late(door: Door, folder: Path) -> None:
    """From now on, for as long as the process lives; `folder` gets the shells' files."""

    def stand_in(file: str) -> str:
        """What is to be loaded by that name, once all that it wants is there."""
        path = Path(file)
        if ".so" not in path.name or not (path.is_file() or _is_plain(file)):
            return file
        door.load([path], folder)
        return door.soname(file) or file

    create_module = importlib.machinery.ExtensionFileLoader.create_module

    @functools.wraps(create_module)
    def created(self: Any, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        stand_in(self.path)
        return create_module(self, spec)

    importlib.machinery.ExtensionFileLoader.create_module = created  # type: ignore[method-assign]

    initialize = ctypes.CDLL.__init__

    @functools.wraps(initialize)
    def initialized(self: Any, name: Any = None, *args: Any, **kwargs: Any) -> None:
        if name and kwargs.get("handle", args[1] if len(args) > 1 else None) is None:
            name = stand_in(os.fsdecode(name))
        initialize(self, name, *args, **kwargs)

    ctypes.CDLL.__init__ = initialized  # type: ignore[method-assign]


def _is_plain(file: str) -> bool:
    """Whether the dynamic linker searches for it by its name alone."""
    return os.sep not in file
