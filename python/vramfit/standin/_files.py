"""Files that a run writes, in a list on disk: its processes share it, and whoever removes the files
reads it, however the processes ended. Free of torch.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from pathlib import Path

# What is known of a path.
MADE_UP = "made up"  # the run's own: numbers that nobody computed may be in it
REAL = "real"  # the run's own: all its numbers are true
OPENED = "opened"  # the run's own, written to by the script itself
FOLDER = "folder"  # made by the run, so that what is in it and not older is its own
KEPT = "kept"  # was there before, and stays as it is
GONE = "gone"  # moved elsewhere, or removed

# What is written beside weights: of models, adapters and sharded checkpoints.
_BESIDE_WEIGHTS = ("config.json", "adapter_config.json", ".metadata")

_BUFFER = ""  # stands for all that has no path

Name = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class Files:
    """Those of one run. What the list does not name was there before."""

    def __init__(self, folder: Path) -> None:
        """`folder`: the run's own, where the list lies; it was made as the run began."""
        self._folder, self._list = folder.resolve(), folder / "files"
        began = folder / "began"
        if not began.exists():
            with contextlib.suppress(OSError):
                began.touch()
        self._began = began.stat().st_mtime if began.exists() else 0.0
        self._known: dict[str, str] = {}
        self._read = 0  # bytes of the list

    def note(self, file: Name, state: str) -> None:
        self._note(_path(file), state)

    def note_buffer(self) -> None:
        """Numbers that nobody computed went to what has no name: the script may write them to files
        that it opens."""
        self._note(_BUFFER, MADE_UP)

    def _note(self, path: str, state: str) -> None:
        if self._states().get(path) == state:
            return
        # A line at once, as others write, too; nothing where the process outlived the run, or where
        # there is no room.
        with contextlib.suppress(OSError), self._list.open("ab", buffering=0) as out:
            out.write(json.dumps([path, state]).encode() + b"\n")

    def moved(self, source: Name, to: Name) -> None:
        """A file, or a folder with all that is in it."""
        old, new = _path(source), _path(to)
        states = dict(self._states())
        for path in states:
            if _is_in(path, new):
                self.note(path, GONE)
        for path, state in states.items():
            if _is_in(path, old):
                self.note(new + path[len(old) :], state)
                self.note(path, GONE)

    def removed(self, file: Name) -> None:
        """A file, or a folder with all that was in it."""
        gone = _path(file)
        for path, state in list(self._states().items()):
            if _is_in(path, gone) and state != KEPT:
                self.note(path, GONE)

    def state(self, file: Name) -> str | None:
        return self._states().get(_path(file))

    def is_from_before(self, file: Name) -> bool:
        """Whether it is a file that holds anything, and none of the run's own."""
        path = Path(_path(file))
        if not path.is_file() or path.stat().st_size == 0:
            return False
        return self._is_older(path) or not self._is_own(path)

    def nowhere(self) -> Path:
        """The name of a file that is to be gone once it is open."""
        return self._folder / f"nowhere-{os.getpid()}-{threading.get_ident()}"

    def told(self) -> dict[str, list[str]]:
        """Files that the script wrote of numbers that nobody computed, and those that it would have
        written over."""
        written = [str(file) for file in self._made_up() if self._folder not in file.parents]
        return {"written": written, "kept": self._all(KEPT)}

    def remove(self) -> None:
        """Numbers that nobody computed; what lies beside them, of a model's folder that the run
        made; folders of its own that are empty then. Never what is older than the run: it was moved
        there."""
        files = self._made_up()
        for file in files:
            if not self._is_older(file):
                with contextlib.suppress(OSError):
                    file.unlink()
        for folder in {file.parent for file in files}:
            if any((folder / name).exists() for name in _BESIDE_WEIGHTS) and self._is_new(folder):
                shutil.rmtree(folder, ignore_errors=True)
        for path in sorted(self._all(FOLDER), reverse=True):  # what lies in it before it
            with contextlib.suppress(OSError):
                Path(path).rmdir()

    def _is_new(self, folder: Path) -> bool:
        """Whether the run made it, and all that is in it."""
        return self._states().get(str(folder)) == FOLDER and not any(
            map(self._is_older, folder.rglob("*"))
        )

    def _is_older(self, path: Path) -> bool:
        try:
            return not path.is_dir() and path.lstat().st_mtime < self._began
        except OSError:
            return False

    def _is_own(self, path: Path) -> bool:
        states = self._states()
        return states.get(str(path)) in (MADE_UP, REAL, OPENED) or any(
            states.get(str(folder)) == FOLDER for folder in (path, *path.parents)
        )

    def _made_up(self) -> list[Path]:
        buffered = self._states().get(_BUFFER) == MADE_UP
        paths = self._all(MADE_UP) + (self._all(OPENED) if buffered else [])
        return [Path(path) for path in paths if path != _BUFFER]

    def _all(self, state: str) -> list[str]:
        return [path for path, known in self._states().items() if known == state]

    def _states(self) -> dict[str, str]:
        if self._list.exists():
            with self._list.open("rb") as lines:
                lines.seek(self._read)
                for line in lines:
                    if not line.endswith(b"\n"):
                        break  # somebody writes it just now, or there was no room for it
                    self._read += len(line)
                    with contextlib.suppress(ValueError):
                        path, self._known[path] = json.loads(line)
        return self._known


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _path(file: Name) -> str:
    return os.path.realpath(os.fsdecode(file))
