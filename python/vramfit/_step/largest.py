"""The largest batch that completes on the card.

Each try is a process of its own, forked where the model is loaded and no step is taken yet: it
takes what it takes in a run of its own, and nothing of it is left to the next.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from vramfit.standin._door import StandInError

Enough = Callable[[], bool]
Play = Callable[[int, Enough], None]  # a batch of so many, until there was enough

_LEAST = 3  # steps: what the first ones leave is met by the later
_FURTHER = 8  # times a batch that completes is what is tried next, at most


@dataclass(frozen=True)
class Peak:
    """Of a batch that completed. Bytes: allocated at most, and what of the card is left beside."""

    allocated: int
    room: int


Tried = dict[int, Peak | None]  # by batch; None: memory ran out


class Steady:
    """Says when a step has reserved nothing more, after so many that each was met by the others."""

    def __init__(self) -> None:
        self._steps = self._most = 0

    def __call__(self) -> bool:
        self._steps += 1
        before, self._most = self._most, torch.cuda.max_memory_reserved()
        return self._steps >= _LEAST and self._most == before


def largest(play: Play) -> tuple[int, Tried]:
    """The largest below the smallest that ran out, 0 where none completes; and what was tried, two
    at a time. Raises StandInError where none can be run."""
    tried: Tried = {}
    misses = 0  # rounds in a row in which nothing completed
    while True:
        low, beyond = _bounds(tried)
        if beyond == low + 1:
            return low, tried
        pair = _pair(low, beyond, tried, 2**misses)
        found = _together(pair, play)
        tried |= found
        misses = 0 if any(found.values()) else misses + 1


def _bounds(tried: Tried) -> tuple[int, int | None]:
    beyond = min((batch for batch, peak in tried.items() if peak is None), default=None)
    done = [batch for batch in tried if beyond is None or batch < beyond]
    return max(done, default=0), beyond


def _pair(low: int, beyond: int | None, tried: Tried, distance: int) -> list[int]:
    """What to try next, between `low` and `beyond`: about where two that completed say that the
    card is full, and otherwise further and further below what ran out."""
    done = sorted((batch, peak) for batch, peak in tried.items() if peak is not None)
    if beyond is None:
        last = _full(done) if len(done) > 1 else 2
        pair = [last - 1, last]
    elif (full := _full(done) if len(done) > 1 else beyond) < beyond:
        pair = [full, full + 1]
    else:
        pair = [beyond - 2 * distance, beyond - distance]
    most = low + 2 if beyond is None else beyond - 1
    inside = {max(low + 1, batch if beyond is None else min(batch, most)) for batch in pair}
    return sorted(inside)


def _full(done: list[tuple[int, Peak]]) -> int:
    (first, less), (last, more) = done[-2:]
    each = max(1, (more.allocated - less.allocated) // (last - first))
    return min(last + max(1, more.room // each), _FURTHER * last)


def _together(batches: list[int], play: Play) -> Tried:
    """Each in a process of its own."""
    begun = [(batch, *_begin(batch, play)) for batch in batches]
    return {batch: _end(batch, reader, child) for batch, reader, child in begun}


def _begin(batch: int, play: Play) -> tuple[int, int]:
    """Where its answer is read, and the process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(writer, batch, play)
    os.close(writer)
    return reader, child


def _end(batch: int, reader: int, child: int) -> Peak | None:
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if not said:
        raise StandInError(f"a batch of {batch}: its process ended with status {status}")
    answer: dict[str, Any] = json.loads(said)
    if "error" in answer:
        raise StandInError(answer["error"])
    return Peak(**answer) if answer else None


def _answer(writer: int, batch: int, play: Play) -> None:
    """Plays it, and ends the process."""
    torch.cuda._is_in_bad_fork = lambda: False  # this CUDA has no driver that a fork would confuse
    answer: dict[str, Any] = {}
    try:
        play(batch, Steady())
        answer = _measured()
    except torch.OutOfMemoryError:
        pass
    except Exception as error:
        answer = {"error": str(error) or repr(error)}
    os.write(writer, json.dumps(answer).encode())
    os._exit(0)


def _measured() -> dict[str, int]:
    free, _ = torch.cuda.mem_get_info()
    allocated = torch.cuda.max_memory_allocated()
    return {"allocated": allocated, "room": free + torch.cuda.memory_reserved() - allocated}
