"""Processes that are forked from a watched one, each watched by itself; one of them is told."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from vramfit.standin._run import RESULT, leave, watched_process


def begin() -> None:
    """In one that was forked: from now on it is watched by itself, and ends when enough was
    seen."""
    watched_process().begin_anew()


def end() -> NoReturn:
    """It came to its end."""
    watched_process().write("script")
    leave(0)


def took(process: int) -> dict[str, Any] | None:
    """What it wrote down as it ended, if it did."""
    place = watched_process().place(RESULT, process)
    return json.loads(place.read_text()) if place.exists() else None


def leave_to(process: int, others: list[int], status: int) -> NoReturn:
    """Ends the process they were forked from: what one took is what is told."""
    for other in others:
        watched_process().place(RESULT, other).unlink(missing_ok=True)
    leave(status)
