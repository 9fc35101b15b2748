"""What a dry run leaves undone: pushes to the Hub, and TensorBoard's files.

Loggers that a variable turns off are turned off by the one who starts the script.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import Future
from typing import Any

from vramfit.standin._imports import when_imported


def keep_quiet() -> None:
    """From now on, for as long as the process lives."""
    when_imported("huggingface_hub.hf_api", _without_pushes)
    when_imported("torch.utils.tensorboard.writer", _into_nothing)
    when_imported("tensorboardX.writer", _into_nothing)


# The Hub's calls that change a repository: those that give a commit, and those that give nothing.
_COMMITS = (
    "create_commit",
    "delete_file",
    "delete_files",
    "delete_folder",
    "super_squash_history",
    "upload_file",
    "upload_folder",
    "upload_large_folder",
)
_GIVE_NOTHING = (
    "create_branch",
    "create_tag",
    "delete_branch",
    "delete_repo",
    "delete_tag",
    "move_repo",
    "preupload_lfs_files",
    "update_repo_settings",
)


def _without_pushes(hub: Any) -> None:
    """huggingface_hub.hf_api, whose functions are methods of one object."""

    def whole(repo_id: str) -> str:
        """The Hub puts the user before a name that has no owner."""
        return repo_id if "/" in repo_id else f"nobody/{repo_id}"

    def create_repo(repo_id: str, *_: Any, **__: Any) -> Any:
        return hub.RepoUrl(f"{hub.constants.ENDPOINT}/{whole(repo_id)}")

    def commit(*_: Any, repo_id: str = "nothing", run_as_future: bool = False, **__: Any) -> Any:
        url = f"{hub.constants.ENDPOINT}/{whole(repo_id)}/commit/{'0' * 40}"
        info = hub.CommitInfo(
            commit_url=url, commit_message="", commit_description="", oid="0" * 40
        )
        if not run_as_future:
            return info
        future: Future[Any] = Future()
        future.set_result(info)
        return future

    def nothing(*_: Any, **__: Any) -> None:
        pass

    calls = {"create_repo": create_repo, **dict.fromkeys(_COMMITS, commit)}
    for name, instead in {**calls, **dict.fromkeys(_GIVE_NOTHING, nothing)}.items():
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
