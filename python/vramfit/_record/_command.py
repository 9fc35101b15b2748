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
from vramfit._record import _options, _runs, _tape
from vramfit._record._check import checked
from vramfit._record._merge import PartError
from vramfit._record._options import Asked
from vramfit._record._solve import Point
from vramfit._record._steps import Taken
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
    points, tape, versions = _made(asked, facts)
    why = None
    if asked.check is not None:
        command = _options.at(asked.command, asked.check)
        run, _ = _runs.run(options, facts, command, f"{at_text(asked.check)}, to check")
        why = checked(tape, run, asked.check)
    lines = [*_head(asked, points, facts, versions), *_found(asked.check, why), *_body(tape)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return _told(asked, tape, why)


def _made(asked: Asked, facts: Json) -> tuple[list[Point], Tape, Json]:
    """The points that it took, the tape, and the versions of what ran. Where sizes one of each do
    not tell enough they are crossed."""
    runs: list[Taken] = []
    points: list[Point] = []
    versions: Json = {}
    rounds = _options.rounds(asked)
    while True:
        for point in rounds.pop(0):
            command = _options.at(asked.command, point)
            run, versions = _runs.run(asked.options, facts, command, at_text(point))
            runs.append(run)
            points.append(point)
        try:
            return points, _tape.made(runs, points), versions
        except PartError as error:
            if not rounds:
                raise bad_input(f"record: {error}; more sizes of each, or others: --vary") from None
            print(f"not yet: {error}", file=sys.stderr)


def _told(asked: Asked, tape: Tape, why: str | None) -> int:
    sizes = len({each.size.text for step in tape.steps for each in step if each.size})
    acts = sum(map(len, tape.steps))
    print(f"{asked.options.output}: {len(tape.steps) - 1} steps, {acts} acts, {sizes} sizes")
    if not tape.repeats:
        print("the last two steps are not alike: no further step is played; --steps for more")
    if asked.check is None:
        return MADE
    if why is None:
        print(f"checked at {at_text(asked.check)}, which it is not made from: equal")
        return MADE
    ranges = ", ".join(
        f"{name} {min(each)} to {max(each)}"
        for name in asked.points[0]
        if (each := [point[name] for point in asked.points])
    )
    print(f"it holds for {ranges}, and not at {at_text(asked.check)}: {why}")
    return BOUNDED


def _head(asked: Asked, points: list[Point], facts: Json, versions: Json) -> list[str]:
    lines = [
        _FIRST_LINE,
        "made " + ", ".join(f"{name} {version}" for name, version in versions.items()),
        f"command {_one_line(shlex.join(asked.command))}",
        f"gpu {facts['gpu'] or '-'} {facts['arch'].removeprefix('sm_')}",
    ]
    if asked.points[0]:
        lines.append("vary " + " ".join(asked.points[0]))
        lines += ["at " + " ".join(map(str, point.values())) for point in points]
    return lines


def _found(check: Point | None, why: str | None) -> list[str]:
    if check is None:
        return []
    if why is not None:
        return [_one_line(f"bounded at {at_text(check)}: {why}")]
    return ["checked " + " ".join(map(str, check.values()))]


def _body(tape: Tape) -> Iterator[str]:
    for number, step in enumerate(tape.steps):
        last = number == len(tape.steps) - 1
        yield f"step {number}" + (" repeats" if last and tape.repeats else "")
        yield from (each.text() for each in step)


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)
