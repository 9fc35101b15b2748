"""The script run once more, in silence, with changes that are made in its process."""

from __future__ import annotations

import json
import os
import shlex
import signal
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from vramfit import _core
from vramfit._dry_run import _child, _process, _result
from vramfit._dry_run._adjustments import Adjustment
from vramfit._dry_run._result import Json

# A card with room has so much more memory. Bytes; addresses for it are reserved several times over
# where segments can grow.
_ROOM = 1 << 38

_LONGEST = 200  # characters of what a script said last

# Where PyTorch reads its allocator's settings: from 2.9 on, and before.
_ALLOCATOR = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")


@dataclass(frozen=True)
class Ran:
    """A run of the script with changes."""

    answer: Json  # with its verdict; of a card with room where memory ran out
    changes: Json  # what standin/_changes.py told of each


class TrialFailedError(Exception):
    """With why."""


class Trials:
    """Of one command."""

    def __init__(self, options: Namespace, command: list[str], facts: Json) -> None:
        self._options, self._command, self._facts = options, command, facts

    def on_a_card_with_room(self) -> Json:
        """What the script would take as it is, which runs out of memory."""
        return self._with_room(()).answer

    def _with_room(self, adjustments: Sequence[Adjustment]) -> Ran:
        ran = self._run(adjustments, _ROOM)
        if ran.answer["ended"] == "memory":
            raise TrialFailedError(f"it takes more than {ran.answer['total'] / 1e9:.0f} GB")
        return Ran({**ran.answer, "verdict": "OOM", "fits": False}, ran.changes)

    def run(self, adjustments: Sequence[Adjustment]) -> Ran:
        """Raises TrialFailedError where the script does not go on with such changes."""
        ran = self._run(adjustments, 0)
        return self._with_room(adjustments) if ran.answer["ended"] == "memory" else ran

    def _run(self, adjustments: Sequence[Adjustment], room: int) -> Ran:
        if _child.interrupted:
            raise _process.ScriptFailedError(-_child.interrupted)
        facts = {**self._facts}
        for total in ("total", "listed_total"):
            facts[total] += room
        names = [adjustment.name for adjustment in adjustments]
        told = _process.settings(self._options, facts, changes=names)
        with _process.folder(told) as place, _output(place) as output:
            try:
                status, took = _process.watched(
                    Path(place),
                    self._command,
                    self._options.uploads,
                    stdout=output.fileno(),
                    stderr=output.fileno(),
                    more=_variables(adjustments),
                )
            except _process.ScriptFailedError as error:
                raise _failed(error.args[0], output) from None
            except _core.BadInput as error:
                raise TrialFailedError(str(error).removeprefix("run: ")) from None
            answer = _result.answer(self._facts, shlex.join(self._command), status, took)
            if answer["ended"] == "failed":
                raise _failed(status, output)
        return Ran(judged(answer), took["changes"])


def judged(answer: Json) -> Json:
    """With its verdict."""
    wordless = {**answer, "about": [], "notes": []}
    return {**answer, **json.loads(_core.dry_run_verdict(json.dumps(wordless)))}


def _failed(status: int, output: IO[str]) -> Exception:
    if _child.interrupted or status == -signal.SIGINT:  # who ends one trial wants no other
        return _process.ScriptFailedError(status)
    output.seek(0)
    said = [line.strip() for line in output if line.strip()]
    last = "".join(filter(str.isprintable, said[-1]))[:_LONGEST] if said else f"status {status}"
    return TrialFailedError(f"the script fails: {last}")


def _output(folder: str) -> IO[str]:
    """Of whatever bytes a script prints."""
    return Path(folder, "output").open("w+", encoding="utf-8", errors="replace")


def _variables(adjustments: Sequence[Adjustment]) -> dict[str, str]:
    """Those of PyTorch's allocator, added to what is set."""
    added = [adjustment.allocator for adjustment in adjustments if adjustment.allocator is not None]
    if not added:
        return {}
    set_already = next((os.environ[name] for name in _ALLOCATOR if os.environ.get(name)), None)
    return dict.fromkeys(_ALLOCATOR, ",".join([*filter(None, [set_already]), *added]))
