"""A process under `vramfit run`: watched from torch's import on, it writes down what it took."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from vramfit.standin._door import StandInError
from vramfit.standin._imports import when_imported
from vramfit.standin._ranks import Ranks
from vramfit.standin._session import Watcher, door, make_weights, remove_files, start

if TYPE_CHECKING:
    from vramfit.standin._changes import Changes
    from vramfit.standin._lone import LoneRank
    from vramfit.standin._origins import Origins
    from vramfit.standin._watched import Watched

# What processes leave in the run's folder: one of these a process, by its number;
RESULT, SNAPSHOT, TRACE, REFUSED = "{}.json", "{}.pickle", "{}.trace", "{}.refused"
ACTS = "{}.acts"
# and that their Python has no torch.
MISSING = "no-torch"


def refuse_another() -> None:
    """A script that starts the stand-in itself, under `vramfit run`."""
    settings = Path(os.environ.get("VRAMFIT_RUN", ""))
    if settings.is_file():
        _refuse(
            settings.parent,
            "the script calls vramfit.standin.start(…), and vramfit run has started the stand-in: "
            "leave out one of them",
        )


_process: _Process | None = None  # one a process


def watched_process() -> _Process:
    """This one, from begin() on."""
    assert _process is not None
    return _process


def begin(settings: str) -> None:
    """Starts the stand-in as the settings' file says."""
    global _process  # noqa: PLW0603
    file = Path(settings)
    told = json.loads(file.read_text())
    if told["real"]:
        process = _process = _RealProcess(told, file.parent, None)
        when_imported("torch", lambda _: process.loaded())
        return
    ranks = Ranks(told["rank"], told["nodes"], _visible(told["facts"]["devices"]))
    _process = _Process(told, file.parent, ranks)
    try:
        if not ranks.settle(os.environ, _process.refused):
            leave(0)
        start(json.dumps(told["facts"]), _process, Path(told.get("run", file.parent)))
    except StandInError as error:
        _refuse(file.parent, str(error))


def _visible(gpus: int) -> int:
    """How many of so many the environment leaves."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return gpus if chosen is None else min(gpus, len(chosen.split(",")))


class _Process(Watcher):
    """This one, from torch's import to its end."""

    def __init__(self, settings: dict[str, Any], folder: Path, ranks: Ranks | None) -> None:
        """`ranks`: none on the GPU that is there, where they are others' processes."""
        self._settings, self._folder, self._number = settings, folder, os.getpid()
        self._ranks = ranks
        self._watched: Watched | None = None
        self._changes: Changes | None = None
        self._lone: LoneRank | None = None

    def missing(self) -> None:
        (self._folder / MISSING).write_text(sys.executable)

    def refused(self, error: StandInError) -> NoReturn:
        _refuse(self._folder, str(error))

    def loaded(self) -> None:
        import torch

        from vramfit.standin._quiet import keep_quiet
        from vramfit.standin._uncaught import attend

        if torch.version.cuda is None:
            _refuse(
                self._folder,
                f"the torch of {sys.executable}, {torch.__version__}, is not built for CUDA: one "
                "that is will do without its nvidia-* packages, pip install --no-deps torch",
            )
        self._watched = self._watch()
        if self._settings["changes"]:
            from vramfit.standin._changes import Changes

            self._changes = Changes(self._settings["changes"])
        if self._ranks is not None:
            from vramfit.standin._lone import LoneRank
            from vramfit.standin._peers import Asker, Peers
            from vramfit.standin._vllm_workers import attend as attend_workers

            def is_over() -> NoReturn:
                leave(0)

            chain, asker = self._settings.get("chain"), None
            if chain:
                asker = Asker(chain[-1], self._settings["channel"], is_over)
            peers = Peers(self._settings, self._folder)
            self._lone = LoneRank(self._ranks.are_others, is_over, peers, asker)
            self._lone.attend()
            attend_workers(self._settings["rank"] or 0, self.refused)
        if self._settings["random_weights"]:
            make_weights(self.refused)
        if not self._settings["uploads"]:
            keep_quiet()
        attend(lambda line: _refuse(self._folder, line))
        atexit.register(self.write, "script")
        self._attend_multiprocessing()

    def _attend_multiprocessing(self) -> None:
        """Whose children run finalizers as they end, and nothing else; one that was forked before
        there was CUDA is watched by itself."""
        from multiprocessing import parent_process, util

        import torch

        def attend(process: _Process) -> None:
            if torch.cuda.is_initialized() or torch.cuda._is_in_bad_fork():
                return  # of what it copied nothing is its own, and it can have no more
            process.begin_anew()
            util.Finalize(None, process.write, ("script",), exitpriority=0)

        util.register_after_fork(self, attend)  # run in a child, also where nothing was forked
        if parent_process() is not None:
            attend(self)

    def _watch(self) -> Watched:
        from vramfit.standin._values import name_ops
        from vramfit.standin._watched import Watched

        return Watched(door(), self._settings, name_ops, self._end, self._write_so_far)

    def _end(self, how: str) -> None:
        """Enough was seen. A process forked from this one goes on."""
        if os.getpid() == self._number:
            self.write(how)
            leave(0)

    def _write_so_far(self) -> None:
        """Where others may end this process before it comes to its own end."""
        self.write("script")

    def begin_anew(self) -> None:
        """In a process that was forked from it, which is another's no more."""
        self._number = os.getpid()

    def write(self, how: str) -> None:
        """What it took; `how` it ended."""
        is_over = not self._folder.is_dir()  # a daemon outlives the run
        if os.getpid() != self._number or self._watched is None or is_over:
            return
        try:
            took = self._watched.took(how)
        except RuntimeError:
            if not self._settings["real"]:
                raise
            return  # a kernel of the GPU's failed, which answers no more
        took["changes"] = self._changes.told() if self._changes is not None else {}
        took["rank"] = self._lone.told() if self._lone is not None else None
        took["in_kernel"] = "ipykernel" in sys.modules  # what runs a notebook fails as that ends
        self._watched.write_records(self.place(SNAPSHOT), self.place(TRACE))
        self._watched.write_acts(self.place(ACTS))
        part = self.place(RESULT).with_suffix(".part")
        part.write_text(json.dumps(took))
        part.rename(self.place(RESULT))

    def place(self, kind: str, process: int | None = None) -> Path:
        """Of what it leaves, or another process of the run."""
        return self._folder / kind.format(process or self._number)


class _RealProcess(_Process):
    """One on the GPU that is there."""

    def _watch(self) -> Watched:
        from vramfit.standin._real import RealCard
        from vramfit.standin._watch import Watching, watch_everywhere
        from vramfit.standin._watched import Watched

        def name_ops(origins: Origins) -> None:
            mode.names = origins

        mode = Watching()
        watch_everywhere(mode)
        return Watched(
            RealCard(self._settings["held"]),
            self._settings,
            name_ops,
            self._end,
            self._write_so_far,
        )


def _refuse(folder: Path, line: str) -> NoReturn:
    """Ends the process: no script goes on without what it came for."""
    with contextlib.suppress(OSError):  # where there is no room for it the empty file tells enough
        (folder / REFUSED.format(os.getpid())).write_text(line)
    leave(2)


def leave(status: int) -> NoReturn:
    """Ends the process at once, with all that it has printed."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    ctypes.CDLL(None).fflush(None)
    multiprocessing = sys.modules.get("multiprocessing")
    for worker in multiprocessing.active_children() if multiprocessing else ():
        worker.terminate()
    remove_files()
    os._exit(status)
