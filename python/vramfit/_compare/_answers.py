"""Answers of `vramfit run --json`, as they are compared."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit._bad_input import bad_input

Json = dict[str, Any]


@dataclass(frozen=True)
class Held:
    """Of a line at a stage's peak."""

    component: str
    in_backward: bool
    line: str  # file:line, or nothing
    script: str
    line_text: str
    script_text: str
    bytes: int


@dataclass(frozen=True)
class Stage:
    """Of those of one name, the one whose peak was highest."""

    name: str
    step: int
    peak: int  # bytes allocated
    held: tuple[Held, ...] | None  # None: nobody knows


@dataclass(frozen=True)
class Answer:
    file: Path
    verdict: str | None  # None: the script itself failed
    fits: bool
    ended: str
    gpu: str
    facts: dict[str, str]  # what may explain a difference, in words
    levels: dict[str, int]
    peak: str  # the name of the stage in which most was allocated
    stages: dict[str, Stage]  # by name, as they came


def read(path: Path) -> Answer:
    """Raises BadInput where it is no such answer."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise bad_input(f"compare: '{path}' cannot be read: {error.strerror}") from None
    except ValueError:
        raise bad_input(f"compare: '{path}' is no JSON") from None
    if isinstance(told, dict) and "benchmarks" in told:
        raise bad_input(
            f"compare: '{path}' is a report of bench: a source tree's build/compare takes those"
        )
    if not isinstance(told, dict) or told.get("run_schema") != 1:
        raise bad_input(f"compare: '{path}' is not what vramfit run --json writes")
    try:
        return _answer(path, told)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise bad_input(
            f"compare: '{path}' is not what vramfit run --json writes: {type(error).__name__} "
            f"{error}"
        ) from None


def _answer(path: Path, told: Json) -> Answer:
    stages = _stages(told)
    levels = {
        "total": int(told["total"]),
        "reserved": int(told["levels"]["reserved"]),
        "allocated": int(told["levels"]["allocated"]),
    }
    return Answer(
        file=path,
        verdict=told["verdict"],
        fits=bool(told["fits"]),
        ended=str(told["ended"]),
        gpu=str(told["gpu"]["title"]),
        facts=_facts(told),
        levels=levels,
        peak=str(told["peak"]["stage"]),
        stages=stages,
    )


def _facts(told: Json) -> dict[str, str]:
    rank = told["rank"]
    return {
        "command": str(told["command"]),
        "gpu": str(told["gpu"]["title"]),
        "vram": f"{int(told['vram']):,} B",
        "driver, context and libraries": f"{int(told['overhead']):,} B",
        "batches": ", ".join(f"{rows} x {width}" for rows, width in told["batches"]),
        "steps": str(told["steps"]),
        "ended": str(told["ended"]),
        "ranks": "" if rank is None else str(rank["ranks"]),
        **{str(name): str(version) for name, version in told["versions"].items()},
    }


def _stages(told: Json) -> dict[str, Stage]:
    holders = _holders(told)
    found: dict[str, Stage] = {}
    for row in told["stages"]:
        name, peak = str(row["name"]), int(row["peak"])
        if name not in found or peak > found[name].peak:
            found[name] = Stage(name, int(row["step"]), peak, holders.get(name))
    return found


def _holders(told: Json) -> dict[str, tuple[Held, ...]]:
    """By the stage's name; before `holders_of_stages` was told, of the run's peak alone."""
    if told["holders"] is None:
        return {}
    of_run = [{"stage": told["peak"]["stage"], "holders": told["holders"]}]
    found: dict[str, tuple[Held, ...]] = {}
    for of_stage in told.get("holders_of_stages") or of_run:
        held = tuple(map(_held, of_stage["holders"]))
        before = found.get(of_stage["stage"], ())
        if sum(one.bytes for one in held) >= sum(one.bytes for one in before):
            found[str(of_stage["stage"])] = held
    return found


def _held(told: Json) -> Held:
    return Held(
        component=str(told["component"]),
        in_backward=bool(told["in_backward"]),
        line=str(told["line"]),
        script=str(told["script"]),
        line_text=str(told.get("line_text", "")),
        script_text=str(told.get("script_text", "")),
        bytes=int(told["bytes"]),
    )
