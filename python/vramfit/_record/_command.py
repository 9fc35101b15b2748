"""The command: runs, the tape, the check."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._dry_run import _child
from vramfit._record import _options
from vramfit._record._options import Asked
from vramfit._record._recording import Recording
from vramfit._record._tape import Tape, at_text

Json = dict[str, Any]

MADE, BOUNDED, BAD_INPUT = 0, 1, 2

_FIRST_LINE = "vramfit run-tape 1"


def record(arguments: list[str]) -> int:
    """The command `vramfit record`; returns its exit status."""
    try:
        return _record(_options.parse(arguments))
    except _core.BadInput as error:
        print(f"vramfit: error: {error}", file=sys.stderr)
        return BAD_INPUT


def _record(asked: Asked) -> int:
    options = asked.options
    file = Path(options.output)
    if not file.absolute().parent.is_dir():
        raise bad_input(f"record: '{file}' cannot be written: its folder is not there")
    facts: Json = json.loads(_core.card_facts(json.dumps({"gpu": options.gpu or "h200"})))
    _child.check(_options.at(asked.command, asked.points[0]))
    recording = Recording(asked, facts)
    lines = [*_head(asked, facts, recording), *_found(recording), *_body(recording.tape)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return _told(options.output, recording)


def _told(file: str, recording: Recording) -> int:
    tape, check = recording.tape, recording.check
    sizes = len({each.size.text for step in tape.steps for each in step if each.size})
    acts = sum(map(len, tape.steps))
    print(f"{file}: {len(tape.steps) - 1} steps, {acts} acts, {sizes} sizes")
    if not tape.repeats and len(tape.steps) > 2:
        print("the last two steps are not alike: no further step is played; --steps for more")
    if check is None:
        return MADE
    if recording.why is None:
        print(f"checked at {at_text(check)}, which it is not made from: equal")
        return MADE
    ranges = ", ".join(
        f"{name} {min(each)} to {max(each)}"
        for name in check
        if (each := [point[name] for point in recording.points])
    )
    print(f"it holds for {ranges}, and not at {at_text(check)}: {recording.why}")
    return BOUNDED


def _head(asked: Asked, facts: Json, recording: Recording) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in recording.versions.items())
    lines = [
        _FIRST_LINE,
        f"made {versions}",
        f"command {_one_line(shlex.join(asked.command))}",
        f"gpu {facts['gpu'] or '-'} {facts['arch'].removeprefix('sm_')}",
    ]
    if asked.points[0]:
        lines.append("vary " + " ".join(asked.points[0]))
        lines += ["at " + " ".join(map(str, point.values())) for point in recording.points]
    return lines


def _found(recording: Recording) -> list[str]:
    if recording.check is None:
        return []
    if recording.why is not None:
        return [_one_line(f"bounded at {at_text(recording.check)}: {recording.why}")]
    return ["checked " + " ".join(map(str, recording.check.values()))]


def _body(tape: Tape) -> Iterator[str]:
    for number, step in enumerate(tape.steps):
        last = number == len(tape.steps) - 1
        yield f"step {number}" + (" repeats" if last and tape.repeats else "")
        yield from (each.text() for each in step)


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)
