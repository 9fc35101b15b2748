"""What a dry run leaves undone: pushes to the Hub, and TensorBoard's files.

Loggers that a variable turns off are turned off by the one who starts the script.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import tempfile
from collections.abc import Callable
from types import ModuleType
from typing import Any


def keep_quiet() -> None:
    """From now on, for as long as the process lives; what is imported already, too."""
    sys.meta_path.insert(0, _Finder())
    for name, silence in _SILENCED.items():
        if name in sys.modules:
            silence(sys.modules[name])


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        silence = _SILENCED.get(name)
        if silence is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, silence)
        return spec


class _Loader(importlib.abc.Loader):
    """A module's own, and what is done once it is there."""

    def __init__(self, loader: Any, then: Callable[[Any], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def _without_pushes(hub: Any) -> None:
    """huggingface_hub.hf_api, whose functions are methods of one object."""

    def create_repo(repo_id: str, *_: Any, **__: Any) -> Any:
        return hub.RepoUrl(f"{hub.constants.ENDPOINT}/{repo_id}")

    def push(*_: Any, repo_id: str = "nobody/nothing", **__: Any) -> Any:
        url = f"{hub.constants.ENDPOINT}/{repo_id}/commit/{'0' * 40}"
        return hub.CommitInfo(
            commit_url=url, commit_message="", commit_description="", oid="0" * 40
        )

    for name, instead in (
        ("create_repo", create_repo),
        ("create_commit", push),
        ("upload_file", push),
        ("upload_folder", push),
        ("upload_large_folder", push),
    ):
        if hasattr(hub.HfApi, name):
            setattr(hub.HfApi, name, staticmethod(instead))
            setattr(hub, name, instead)


def _into_nothing(writer: Any) -> None:
    """TensorBoard's writer, PyTorch's or tensorboardX's: its folder is one that goes again."""
    initialize = writer.FileWriter.__init__
    folder = tempfile.TemporaryDirectory(prefix="vramfit-tensorboard-")

    def elsewhere(self: Any, logdir: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, folder.name, *args, **kwargs)

    writer.FileWriter.__init__ = elsewhere


_SILENCED: dict[str, Callable[[Any], None]] = {
    "huggingface_hub.hf_api": _without_pushes,
    "torch.utils.tensorboard.writer": _into_nothing,
    "tensorboardX.writer": _into_nothing,
}
