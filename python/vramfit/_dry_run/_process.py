"""One run of the command: what its processes are told, and what the one took that used most."""

from __future__ import annotations

import json
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from vramfit._bad_input import bad_input
from vramfit._dry_run import _child, _result
from vramfit._dry_run._result import Json
from vramfit.standin._files import Files


class ScriptFailedError(Exception):
    """With its exit status: before there was anything to tell."""


def settings(options: Namespace, facts: Json, **more: Any) -> Json:
    """What processes are told; `more` than what flags say."""
    return {
        "facts": {"late_events": False, **facts, "strict": options.strict},
        "steps": options.steps,
        "longest": options.longest,
        "uploads": options.uploads,
        "random_weights": options.random_weights,
        "rank": options.rank,
        "nodes": options.nodes,
        "records": False,
        "acts": False,
        "real": False,
        "held": facts["held"],
        "all_stages": options.beside_real,
        "changes": [],
        **more,
    }


def folder(told: Json) -> tempfile.TemporaryDirectory[str]:
    """The run's own, with its settings."""
    try:
        # A process that outlives the run may write there yet.
        place = tempfile.TemporaryDirectory(prefix="vramfit-run-", ignore_cleanup_errors=True)
        Path(place.name, "settings").write_text(json.dumps(told))
    except OSError as error:
        raise bad_input(
            f"run: no folder for temporary files ({error.strerror}): set TMPDIR to one that has "
            "room"
        ) from None
    return place


def watched(place: Path, command: list[str], uploads: bool, **popen: Any) -> tuple[int, Json]:
    """The command's status, and what the process took that used most. `popen`: its streams, and
    variables of its environment, as _child.run_watched takes them."""
    try:
        status = _child.run_watched(command, place / "settings", uploads, **popen)
    finally:
        Files(place).remove()
    took = _result.process_that_used_most(place, command, status)
    if took is None:
        raise ScriptFailedError(status)
    return status, took
