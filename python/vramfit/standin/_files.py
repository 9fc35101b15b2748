"""Files that a run writes, in a list on disk: its processes share it, and whoever removes the files
reads it, however the processes ended. Free of torch.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path

# What is known of a path.
MADE_UP = "made up"  # the run's own: numbers that nobody computed may be in it
REAL = "real"  # the run's own: all its numbers are true
FOLDER = "folder"  # made by the run, so that all in it is its own
KEPT = "kept"  # was there before, and stays as it is
GONE = "gone"  # moved elsewhere

# What is written beside weights: of models, adapters and sharded checkpoints.
_BESIDE_WEIGHTS = ("config.json", "adapter_config.json", ".metadata")

Name = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class Files:
    """Those of one run. What the list does not name was there before."""

    def __init__(self, folder: Path) -> None:
        """`folder`: the run's own, where the list lies."""
        self._folder, self._list = folder.resolve(), folder / "files"
        self._known: dict[str, str] = {}
        self._read = 0  # bytes of the list

    def note(self, file: Name, state: str) -> None:
        path = _path(file)
        if self._states().get(path) == state:
            return
        # A line at once, as others write, too; nothing where the process outlived the run.
        with (
            contextlib.suppress(FileNotFoundError),
            self._list.open("ab", buffering=0) as out,
        ):
            out.write(json.dumps([path, state]).encode() + b"\n")

    def moved(self, source: Name, to: Name) -> None:
        """A file, or a folder with all that is in it."""
        old, new = _path(source), _path(to)
        states = dict(self._states())
        if new in states:
            self.note(new, GONE)
        for path, state in states.items():
            if path == old or path.startswith(old + os.sep):
                self.note(new + path[len(old) :], state)
                self.note(path, GONE)

    def state(self, file: Name) -> str | None:
        return self._states().get(_path(file))

    def is_from_before(self, file: Name) -> bool:
        """Whether it is a file that holds anything, and none of the run's own."""
        path = Path(_path(file))
        return path.is_file() and path.stat().st_size > 0 and not self._is_own(path)

    def told(self) -> dict[str, list[str]]:
        """Files that the script wrote of numbers that nobody computed, and those that it would have
        written over."""
        written = [str(file) for file in self._made_up() if self._folder not in file.parents]
        return {"written": written, "kept": self._all(KEPT)}

    def remove(self) -> None:
        """Numbers that nobody computed; and what lies beside them, of a model's folder that the run
        made."""
        files = self._made_up()
        for file in files:
            with contextlib.suppress(OSError):
                file.unlink()
        for folder in {file.parent for file in files}:
            if any((folder / name).exists() for name in _BESIDE_WEIGHTS) and self._is_own(folder):
                shutil.rmtree(folder, ignore_errors=True)

    def _is_own(self, path: Path) -> bool:
        states = self._states()
        return states.get(str(path)) in (MADE_UP, REAL) or any(
            states.get(str(folder)) == FOLDER for folder in (path, *path.parents)
        )

    def _made_up(self) -> list[Path]:
        return [Path(path) for path in self._all(MADE_UP)]

    def _all(self, state: str) -> list[str]:
        return [path for path, known in self._states().items() if known == state]

    def _states(self) -> dict[str, str]:
        if self._list.exists():
            with self._list.open("rb") as lines:
                lines.seek(self._read)
                for line in lines:
                    path, self._known[path] = json.loads(line)
                self._read = lines.tell()
        return self._known


def _path(file: Name) -> str:
    return os.path.realpath(os.fsdecode(file))
