"""A dry run beside the same script's run on the GPU that is there: where they part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_LEVELS = (("allocated", "peak"), ("reserved", "peak_reserved"), ("used", "peak_device_used"))
_LINES = 10  # that hold most otherwise


def beside(dry: Json, real: Json) -> Json:
    """What both took, as `--json` has it under `real`: differences are the dry run's bytes less
    the real one's."""
    pairs = list(_pairs(dry["stages"], real["stages"]))
    return {
        "ended": real["ended"],
        "levels": real["levels"],
        "stages": [
            {
                "step": ours["step"],
                "name": ours["name"],
                **{level: ours[key] - theirs[key] for level, key in _LEVELS},
            }
            for ours, theirs in pairs
        ],
        "parts": _parts(dry, real, pairs),
    }


def _pairs(ours: list[Json], theirs: list[Json]) -> Iterator[tuple[Json, Json]]:
    found = {(stage["step"], stage["name"]): stage for stage in theirs}
    for stage in ours:
        other = found.get((stage["step"], stage["name"]))
        if other is not None:
            yield stage, other


def _parts(dry: Json, real: Json, pairs: list[tuple[Json, Json]]) -> Json | None:
    """The first stage whose peaks of what is allocated differ, and the lines that hold otherwise
    then; None: none does."""
    for ours, theirs in pairs:
        if ours["peak"] == theirs["peak"]:
            continue
        step, stage = ours["step"], ours["name"]
        here = _held(dry["holders_of_stages"], step, stage)
        there = _held(real["holders_of_stages"], step, stage)
        lines = [
            {
                **dict(zip(_KEYS, key, strict=True)),
                "dry": here.get(key, 0),
                "real": there.get(key, 0),
            }
            for key in {**here, **there}
            if here.get(key, 0) != there.get(key, 0)
        ]
        lines.sort(key=lambda line: -abs(line["dry"] - line["real"]))
        return {"step": step, "stage": stage, "lines": lines[:_LINES]}
    return None


_KEYS = ("component", "line", "script", "in_backward")


def _held(stages: list[Json], step: int, stage: str) -> dict[tuple[Any, ...], int]:
    """Bytes of each line, at that stage's peak."""
    for told in stages:
        if (told["step"], told["stage"]) == (step, stage):
            return {tuple(held[key] for key in _KEYS): held["bytes"] for held in told["holders"]}
    return {}


def text(compared: Json) -> str:
    """As `vramfit run --beside-real` prints it."""
    row = "  {:<24}{:>16}{:>16}{:>16}\n".format
    lines = row("dry run less real, bytes", *(level for level, _ in _LEVELS))
    for stage in compared["stages"]:
        name = stage["name"] + (f" of step {stage['step']}" if stage["step"] else "")
        lines += row(name, *(_signed(stage[level]) for level, _ in _LEVELS))
    failed = compared["ended"] == "failed"
    if failed:
        lines += "\n  the real run failed, as above\n"
    parts = compared["parts"]
    if parts is None:
        equal = "\n  what is allocated at most is as on the real GPU in all of them\n"
        return lines if failed else lines + equal
    lines += f"\n  they part in {parts['stage']} of step {parts['step']}:"
    if not parts["lines"]:
        return lines + " every line holds the same, in blocks of other sizes\n"
    lines += "\n"
    for line in parts["lines"]:
        place = "/".join(line["line"].split("/")[-2:]) or "no line of Python"
        where = f"{'backward of ' * line['in_backward']}{place}"
        component = line["component"].replace("_", " ")
        lines += f"  {_signed(line['dry'] - line['real']):>18}   {component}, {where}\n"
    return lines


def _signed(difference: int) -> str:
    return f"{difference:+,}".replace("-", "\N{MINUS SIGN}") if difference else "equal"
