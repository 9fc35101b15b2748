"""A process whose CUDA is the stand-in's, from before torch is imported on."""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from vramfit.standin._door import Door, StandInError

_door: Door | None = None


def door() -> Door:
    """The process's own; raises StandInError before start()."""
    if _door is None:
        raise StandInError("the stand-in was not started: vramfit.standin.start(…) comes first")
    return _door


def start(facts: str) -> None:
    """Makes torch, when it is imported, find the machine that the JSON `facts` tells of.

    Raises StandInError where torch is there already, or nothing can stand in for its libraries.
    """
    global _door  # noqa: PLW0603  one a process, as the library itself is
    if "torch" in sys.modules:
        raise StandInError("torch was imported already: start the stand-in before it")
    if _door is not None:
        raise StandInError("the stand-in was started already")
    _door = Door(Path(__file__).with_name("libvramfit_standin.so"))
    _door.start(facts)
    folder = Path(tempfile.mkdtemp(prefix="vramfit-standin-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sys.meta_path.insert(0, _Importer(folder))


class _Importer(importlib.abc.MetaPathFinder):
    """Stands in for what torch wants as it is found, and watches over it once it is imported."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or spec.loader is None:
            return spec
        home = Path(spec.origin).parent
        door().load([*home.glob("lib/*.so*"), *home.glob("_C*.so")], self._folder)
        spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Torch's own, and what is to happen once torch is there."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        from vramfit.standin._values import keep_values

        keep_values(door())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
