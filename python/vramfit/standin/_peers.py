"""Ranks that are run for what they send: objects that none but the sender knows, as the shapes that
a pipeline's stages tell each other. A peer is this process's command once more, under a rank of its
own; it goes no further than to the objects that it is asked for.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from torch.distributed.distributed_c10d import _pickler, _unpickler

from vramfit.standin._ranks import environment_of

_LENGTH = 8  # bytes that say how long what follows is
_GO_ON = b"+"


class Peers:
    """Those of this process. Its settings' `chain` has the ranks that wait for it, the one that
    asked it last, and `channel` where that one does."""

    def __init__(self, settings: Mapping[str, Any], folder: Path) -> None:
        """`folder`: the run's, or of a peer its own."""
        self._settings, self._folder = settings, folder
        self._began_as = dict(os.environ), Path.cwd()
        self._process = os.getpid()
        self._running: dict[int, _Peer | None] = {}

    def objects_of(self, source: int, rank: int, how: str) -> list[bytes] | None:
        """What `source` sends next to `rank`, this one, by such a way, pickled. None: it sends
        nothing, or cannot be run."""
        if source not in self._running:
            self._running[source] = self._begin(rank, source)
        peer = self._running[source]
        objects = peer.next(how) if peer is not None else None
        if objects is None:
            self._running[source] = None
        return objects

    @property
    def count(self) -> int:
        """How many have been of use so far."""
        return sum(peer is not None for peer in self._running.values())

    def _begin(self, rank: int, source: int) -> _Peer | None:
        chain = [*self._settings.get("chain", ()), rank]
        variables, here = self._began_as
        variables = environment_of(source, variables)
        if source in chain or not variables or self._is_a_scripts_own():
            return None
        ours, theirs = socket.socketpair()
        with theirs:
            folder = self._folder / f"peer-{source}"
            told = {
                "run": str(self._folder),
                **self._settings,
                "rank": source,
                "chain": chain,
                "channel": theirs.fileno(),
            }
            try:
                folder.mkdir()
                (folder / "settings").write_text(json.dumps(told))
                subprocess.Popen(
                    [sys.executable, *sys.orig_argv[1:]],
                    env={**variables, "VRAMFIT_RUN": str(folder / "settings")},
                    cwd=here,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                return None
        return _Peer(ours)

    def _is_a_scripts_own(self) -> bool:
        """Whether it was forked, or begun by multiprocessing: its command is another's."""
        return parent_process() is not None or os.getpid() != self._process


class _Peer:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def next(self, how: str) -> list[bytes] | None:
        """The next objects that it sends so; others before them were not asked for."""
        with contextlib.suppress(OSError, EOFError):
            while True:
                message = unpickled(self._received(int.from_bytes(self._received(_LENGTH), "big")))
                self._channel.sendall(_GO_ON)
                if message[0] == how:
                    objects: list[bytes] = message[1]
                    return objects
        self._channel.close()
        return None

    def _received(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            part = self._channel.recv(min(size - len(got), 1 << 20))
            if not part:
                raise EOFError
            got += part
        return got


class Asker:
    """The rank that this process is a peer of. It is over with that one."""

    def __init__(self, rank: int, channel: int, leave: Callable[[], None]) -> None:
        self.rank = rank
        self._channel = socket.socket(fileno=channel)
        self._leave = leave
        self._go_on = threading.Semaphore(0)
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, objects: list[Any], how: str) -> None:
        """Until it asks for more."""
        told = pickled((how, [pickled(each) for each in objects]))
        with contextlib.suppress(OSError):
            self._channel.sendall(len(told).to_bytes(_LENGTH, "big") + told)
            self._go_on.acquire()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while self._channel.recv(1):
                self._go_on.release()
        self._leave()


def pickled(value: Any) -> bytes:
    """As torch.distributed does it."""
    out = io.BytesIO()
    _pickler(out).dump(value)
    return out.getvalue()


def unpickled(value: bytes) -> Any:
    return _unpickler(io.BytesIO(value)).load()
