"""Run by Python as it starts, under `vramfit run`: makes torch, should it be imported, find the GPU
that is not there. A process that never imports torch pays for looking at one variable.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing itself takes long to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Awaited:
    """Starts the stand-in as torch is looked for."""

    def __init__(self, settings: str) -> None:
        self._settings = settings

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch" or not os.path.exists(self._settings):
            return None
        sys.meta_path.remove(self)
        _standin()
        from vramfit.standin._run import begin

        begin(self._settings)
        return sys.meta_path[0].find_spec(name, path, target)


def _standin() -> None:
    """The package this file belongs to, whichever other `vramfit` this Python has, and without what
    of it is built for one Python alone."""
    from importlib.util import module_from_spec, spec_from_file_location

    if "vramfit.standin" in sys.modules:
        return
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = spec_from_file_location(
        "vramfit.standin", os.path.join(home, "__init__.py"), submodule_search_locations=[home]
    )
    assert spec is not None and spec.loader is not None
    sys.modules["vramfit.standin"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["vramfit.standin"])


def _run_the_one_behind() -> None:
    """Whatever sitecustomize this Python has without us."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["sitecustomize"])


_settings = os.environ.get("VRAMFIT_RUN")
if _settings and os.path.exists(_settings):  # not where the process outlived the run
    sys.meta_path.insert(0, _Awaited(_settings))
    open(os.path.join(os.path.dirname(_settings), "python"), "ab").close()
_run_the_one_behind()
