"""What a dry run leaves undone: pushes to the Hub, and TensorBoard's files.

Loggers that a variable turns off are turned off by the one who starts the script.
"""

from __future__ import annotations

import tempfile
from typing import Any

from vramfit.standin._imports import when_imported


def keep_quiet() -> None:
    """From now on, for as long as the process lives."""
    when_imported("huggingface_hub.hf_api", _without_pushes)
    when_imported("torch.utils.tensorboard.writer", _into_nothing)
    when_imported("tensorboardX.writer", _into_nothing)


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
