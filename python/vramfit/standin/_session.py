"""A process whose CUDA is the stand-in's, from before torch is imported on."""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from vramfit.standin._door import Door, StandInError
from vramfit.standin._files import Files
from vramfit.standin._late import stand_in_late

_door: Door | None = None
_folder: Path | None = None  # the run's; without one, the process makes its own as torch comes
_shells: Path | None = None  # the folder of files that stand in for NVIDIA's
_owner = 0  # the process that made it
_files: Files | None = None  # there from torch on


def door() -> Door:
    """The process's own; raises StandInError before start()."""
    if _door is None:
        raise StandInError("the stand-in was not started: vramfit.standin.start(…) comes first")
    return _door


def checkpoints() -> dict[str, list[str]]:
    """Files that the script wrote, `written`, and those that it would have replaced, `kept`."""
    return _files.told() if _files is not None else {"written": [], "kept": []}


def make_weights(refuse: Callable[[StandInError], None] = lambda _: None) -> None:
    """From now on from_pretrained needs a model's config alone. `refuse` is told where that is not
    enough and others would catch what is raised, which it is where this returns."""
    from vramfit.standin._made_checkpoints import MadeCheckpoints
    from vramfit.standin._values import hollows
    from vramfit.standin._vllm_weights import VllmWeights
    from vramfit.standin._weights import RandomWeights

    folder = _folder or _shells
    assert folder is not None  # torch is there
    made = MadeCheckpoints(hollows(), folder / "weights")
    RandomWeights(made).attend()
    VllmWeights(made, refuse).attend()


class Watcher:
    """Told of how torch's import goes."""

    def missing(self) -> None:
        """This Python has no torch."""

    def refused(self, error: StandInError) -> None:
        """Nothing can stand in for what torch wants; it is raised where this returns."""

    def loaded(self) -> None:
        """Torch is there."""


def start(
    facts: str,
    watcher: Watcher | None = None,
    folder: Path | None = None,
    *,
    watches: bool = True,
) -> None:
    """Makes torch, when it is imported, find the machine that the JSON `facts` tells of. `folder`:
    that of a run of several processes, which removes what they write. Without `watches` torch is
    loaded and left alone: for a machine without a GPU, where nothing is to be told.

    Raises StandInError where torch is there already, or nothing can stand in for its libraries.
    """
    global _door, _folder  # noqa: PLW0603  one a process, as the library itself is
    if _door is not None:
        raise StandInError("the stand-in was started already, for as long as this process lives")
    if "torch" in sys.modules:
        raise StandInError(
            "torch was imported already: start the stand-in before it, in a new process or a "
            "restarted kernel"
        )
    if not Path("/proc/self/fd").is_dir():
        raise StandInError("/proc is not mounted, by which a process sees its files and memory")
    _door = Door(Path(__file__).with_name("libvramfit_standin.so"))
    _door.start(facts)
    _folder = folder
    sys.meta_path.insert(0, _Importer((watcher or Watcher()) if watches else None))


class _Importer(importlib.abc.MetaPathFinder):
    """Has torch loaded by a loader of ours."""

    def __init__(self, watcher: Watcher | None) -> None:
        """None: nobody watches."""
        self._watcher = watcher

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None:
            if self._watcher is not None:
                self._watcher.missing()
        elif spec.origin is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, Path(spec.origin).parent, self._watcher)
        return spec


class _Loader(importlib.abc.Loader):
    """Torch's own; stands in for what torch wants before it is loaded, and watches from then on."""

    def __init__(self, loader: Any, home: Path, watcher: Watcher | None) -> None:
        self._loader, self._home, self._watcher = loader, home, watcher

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        global _shells, _owner
        shells = tempfile.mkdtemp(prefix="vramfit-standin-", dir=_folder)
        _shells, _owner = Path(shells), os.getpid()
        try:
            door().load([*self._home.glob("lib/*.so*"), *self._home.glob("_C*.so")], _shells)
        except StandInError as error:
            if self._watcher is not None:
                self._watcher.refused(error)
            raise
        stand_in_late(door(), _shells)
        os.environ["TRITON_LIBCUDA_PATH"] = str(_shells)  # what its launchers are linked against
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if self._watcher is None:
            return
        from vramfit.standin._checkpoints import Checkpoints
        from vramfit.standin._guards import Guards
        from vramfit.standin._jit import compile_nothing
        from vramfit.standin._recurrent import run_without_cudnn
        from vramfit.standin._values import keep_values

        global _files  # noqa: PLW0603  one a process
        assert _shells is not None  # made with the module
        if module._C._has_cudnn:
            door().tell_cudnn_version(*module._C._cudnn.getCompileVersion())
        values = keep_values(door())
        run_without_cudnn(values.reads)
        compile_nothing()
        _files = Files(_folder or _shells)
        Guards(_files).attend()
        Checkpoints(values.hollows, _files).attend()
        self._watcher.loaded()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


@atexit.register
def remove_files() -> None:
    """What stood in for files. By the process that made them: those forked from it end, too."""
    if _shells is not None and os.getpid() == _owner:
        if _files is not None and _folder is None:
            _files.remove()
        shutil.rmtree(_shells, ignore_errors=True)
