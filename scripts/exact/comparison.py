"""What was played beside what was measured: one line a case, kept in data/exact.jsonl.

A line has the case's name, seconds, the host's bytes, and where a level of a stage is another one,
by how many bytes; or `failed`, why it did not run to its end."""

from collections.abc import Iterable, Mapping
from typing import Any

from programs import ROOT, read_jsonl

from exact.cases import Case, readings

KEPT = ROOT / "data" / "exact.jsonl"

Line = dict[str, Any]
Differences = dict[str, dict[str, int]]  # played less measured, by stage and level


def compared(case: Case, played: Mapping[str, Any]) -> Line:
    """`played` as play.py writes it."""
    line = {key: played[key] for key in ("name", "seconds", "host")}
    result = played["result"]
    why = result.get("oom") or result.get("error")
    if why is not None:
        return {**line, "failed": why[:100]}
    found = readings(result)
    missing = case.measured.keys() - found.keys()
    if missing:
        return {**line, "failed": f"no reading {min(missing)}"}
    differences: Differences = {}
    for stage, measured in case.measured.items():
        here = {level: found[stage][level] - value for level, value in measured.items()}
        here = {level: difference for level, difference in here.items() if difference}
        if here:
            differences[stage] = here
    return {**line, "differences": differences}


def kept() -> list[Line]:
    """Those that are committed."""
    return list(read_jsonl(KEPT)) if KEPT.exists() else []


def told(line: Line) -> list[str]:
    """Where it is not as measured, in lines for a reader."""
    if "failed" in line:
        return [f"{line['name']}: {line['failed']}"]
    return [
        f"{line['name']} {stage}: "
        + ", ".join(f"{level} {difference:+,}" for level, difference in levels.items())
        for stage, levels in line["differences"].items()
    ]


def lost(before: Iterable[Line], now: Iterable[Line]) -> list[str]:
    """What was as measured before and is not any more, in lines for a reader."""
    known = {line["name"]: line for line in before}
    found = []
    for line in now:
        old = known.get(line["name"])
        if old is None or "failed" in old:
            continue
        if "failed" in line:
            found += told(line)
            continue
        for stage, levels in line["differences"].items():
            equal = levels.keys() - old["differences"].get(stage, {}).keys()
            found += [f"{line['name']} {stage}: {level} {levels[level]:+,}" for level in equal]
    return found
