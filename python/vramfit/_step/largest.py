"""The largest batch that completes on the card.

Each try is a process of its own, forked where the model is loaded and no step is taken yet, and
watched by itself: it takes what it takes in a run of its own, nothing of it is left to the next,
and what is told is what the try of the largest took.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from vramfit.standin import _forks
from vramfit.standin._door import StandInError
from vramfit.standin._uncaught import is_any, without_us

Play = Callable[[int], None]  # a batch of so many

_FURTHER = 8  # times a batch that completes is what is tried next, at most


@dataclass(frozen=True)
class Try:
    """Of a batch. Bytes: allocated at most, and what of the card is left beside."""

    process: int
    completes: bool
    allocated: int
    room: int


Tried = dict[int, Try]  # by batch


def largest(play: Play) -> tuple[int, Tried]:
    """The largest below the smallest that ran out, 0 where none completes; and what was tried, two
    at a time. Raises StandInError where none can be run; ends the process where one fails for
    another reason than memory, with its traceback."""
    tried: Tried = {}
    misses = 0  # rounds in a row in which nothing completed
    while True:
        low, beyond = _bounds(tried)
        if beyond == low + 1:
            return low, tried
        pair = _pair(low, beyond, tried, misses)
        found = _together(pair, play)
        tried |= found
        misses = 0 if any(each.completes for each in found.values()) else misses + 1


def leave_to(batch: int, tried: Tried) -> NoReturn:
    """Ends the process: what is told is the try of this batch."""
    told = tried[batch]
    others = [each.process for each in tried.values() if each is not told]
    _forks.leave_to(told.process, others, 0 if told.completes else 1)


def _bounds(tried: Tried) -> tuple[int, int | None]:
    beyond = min((batch for batch, each in tried.items() if not each.completes), default=None)
    done = [batch for batch in tried if beyond is None or batch < beyond]
    return max(done, default=0), beyond


def _pair(low: int, beyond: int | None, tried: Tried, misses: int) -> list[int]:
    """What to try next, between `low` and `beyond`: about where two that completed say that the
    card is full; where that is too much, further and further below what ran out, and between the
    two once something completes."""
    done = sorted((batch, each) for batch, each in tried.items() if batch <= low)
    full = _full(done) if len(done) > 1 else 2
    if beyond is None:
        pair, most = (full - 1, full), full
    elif full < beyond:
        pair, most = (full, full + 1), beyond - 1
    elif misses:
        pair, most = (beyond - 4**misses, beyond - 4**misses // 2), beyond - 1
    else:
        third = (beyond - low) // 3
        pair, most = (low + third, beyond - third), beyond - 1
    return sorted({min(max(batch, low + 1), most) for batch in pair})


def _full(done: list[tuple[int, Try]]) -> int:
    (first, less), (last, more) = done[-2:]
    each = max(1, (more.allocated - less.allocated) // (last - first))
    return min(last + max(1, more.room // each), _FURTHER * last)


def _together(batches: list[int], play: Play) -> Tried:
    """Each in a process of its own."""
    begun = {batch: _begin(batch, play) for batch in batches}
    tried: Tried = {}
    try:
        for batch in batches:
            reader, child = begun[batch]
            with os.fdopen(reader) as pipe:
                failure = pipe.read()
            _, status = os.waitpid(child, 0)
            del begun[batch]  # its number may be another's from now on
            tried[batch] = _tried(batch, child, failure, status)
    except BaseException:  # of one, whose others nobody asks any more
        for _, child in begun.values():
            os.kill(child, signal.SIGKILL)
        raise
    return tried


def _begin(batch: int, play: Play) -> tuple[int, int]:
    """Where it says why it failed, and the process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _play(writer, batch, play)
    os.close(writer)
    return reader, child


def _tried(batch: int, child: int, failure: str, status: int) -> Try:
    took = _forks.took(child)
    if took is not None:
        return _try(child, took)
    if not failure:
        sys.exit(f"a batch of {batch}: its process ended with status {status}")
    why: dict[str, str] = json.loads(failure)
    if "refused" in why:
        raise StandInError(why["refused"])
    if "lacks" in why:
        raise ModuleNotFoundError(name=why["lacks"])
    sys.exit(f"With a batch of {batch}:\n{why['failed']}")


def _play(writer: int, batch: int, play: Play) -> NoReturn:
    """In silence, and ends the process."""
    why = {}
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, sys.stdout.fileno())
        os.dup2(silence, sys.stderr.fileno())
        torch.cuda._is_in_bad_fork = lambda: False  # no driver is there that forks would confuse
        _forks.begin()
        try:
            play(batch)
        except BaseException as error:
            if is_any(error, torch.OutOfMemoryError):
                _forks.end()
            raise
        _forks.end()
    except StandInError as error:
        why = {"refused": str(error)}
    except ModuleNotFoundError as error:
        why = {"lacks": error.name or str(error)}
    except BaseException as error:
        error.__traceback__ = without_us(error.__traceback__)
        why = {"failed": "".join(traceback.format_exception(error)).rstrip()}
    finally:
        with os.fdopen(writer, "w") as pipe:
            json.dump(why, pipe)
        os._exit(1)


def _try(process: int, took: dict[str, Any]) -> Try:
    [card], levels = took["devices"], [stage["devices"][0] for stage in took["stages"]]
    allocated = max(level["peak"] for level in levels)
    room = card["free"] + levels[-1]["reserved"] - allocated
    return Try(process, not took["ran_out"], allocated, room)
