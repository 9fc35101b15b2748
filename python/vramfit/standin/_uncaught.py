"""An exception that nobody caught: shown as it would be where nothing watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from vramfit.standin._door import StandInError
from vramfit.standin._values import SpinsOnUnknownError

_HOME = str(Path(__file__).parent)

# Functions of torch's through which a mode that watches ops is reached, and calls the op again.
_BEFORE_US = {("torch/_compile.py", "inner"), ("torch/_dynamo/eval_frame.py", "_fn")}
_AFTER_US = {("torch/_ops.py", "__call__")}


def attend(refuse: Callable[[str], NoReturn]) -> None:
    """From now on; `refuse` is told of what no script can go on with, in a line."""
    shown = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        for each in _chain(error):
            if line := _refusal(each):
                refuse(line)
            each.__traceback__ = without_us(each.__traceback__)
        shown(kind, error, error.__traceback__)

    sys.excepthook = hook


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__


def is_any(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Whether it is of that kind, or what it was raised from."""
    return any(isinstance(each, kind) for each in _chain(error))


def _refusal(error: BaseException) -> str:
    if isinstance(error, (SpinsOnUnknownError, StandInError)):
        return str(error)
    if "Failed to find C compiler" in str(error):
        return (
            "Triton found no C compiler, which it needs with a GPU as without: install gcc, or say "
            "in CC which"
        )
    return ""


def without_us(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames by which ops are watched."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    ours = [frame.tb_frame.f_code.co_filename.startswith(_HOME) for frame in frames]
    for at in range(1, len(frames)):
        ours[at] = ours[at] or (ours[at - 1] and _is_one_of(frames[at], _AFTER_US))
    for at in reversed(range(len(frames) - 1)):
        ours[at] = ours[at] or (ours[at + 1] and _is_one_of(frames[at], _BEFORE_US))
    left = None
    for frame, leaves in zip(reversed(frames), reversed(ours), strict=True):
        if not leaves:
            frame.tb_next = left
            left = frame
    return left


def _is_one_of(trace: TracebackType, functions: set[tuple[str, str]]) -> bool:
    code = trace.tb_frame.f_code
    return any(code.co_name == name and code.co_filename.endswith(f) for f, name in functions)
