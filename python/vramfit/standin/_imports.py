"""What is to be done to a library as the script imports it, and not before."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

Patch = Callable[[ModuleType], None]


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what is awaited where it would be found anyway."""

    def __init__(self) -> None:
        self.awaited: dict[str, list[Patch]] = {}

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        changes = self.awaited.pop(name, None)
        if changes is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        @functools.wraps(execute)
        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            for change in changes:
                change(module)

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec


_finder = _Finder()


def when_imported(name: str, change: Patch) -> None:
    """Changes a module right after it is executed; at once where it is there already."""
    if name in sys.modules:
        change(sys.modules[name])
        return
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.awaited.setdefault(name, []).append(change)
