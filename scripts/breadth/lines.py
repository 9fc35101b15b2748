"""What was played of a type, one line each, kept in data/breadth.jsonl.

A line has the type, the precision, its small model's parameters, and of training and of generation
whether it runs, the bytes allocated at most, the values that were read and assumed; where it does
not run, the error, and on the CPU its own error there or null."""

from collections.abc import Iterable, Mapping
from typing import Any

from programs import ROOT, read_jsonl

KEPT = ROOT / "data" / "breadth.jsonl"
PARTS = ("training", "generation")

Line = dict[str, Any]


def failures(played: Mapping[str, Any]) -> list[str]:
    """Parts that do not run."""
    return [part for part in PARTS if not played[part]["runs"]]


def line_of(played: Mapping[str, Any], on_cpu: Mapping[str, Any] | None) -> Line:
    """`played` and `on_cpu` as play.py writes them."""
    line = {key: played.get(key) for key in ("type", "precision", "parameters")}
    for part in PARTS:
        here = played[part]
        if here["runs"]:
            line[part] = {key: here[key] for key in ("runs", "peak", "assumed")}
            continue
        line[part] = {key: here[key] for key in ("runs", "error", "where")}
        there = on_cpu[part] if on_cpu is not None else {"runs": None}
        line[part]["on_cpu"] = None if there["runs"] else there.get("error", "not played")
    return line


def kept() -> list[Line]:
    """Those that are committed."""
    return list(read_jsonl(KEPT)) if KEPT.exists() else []


def lost(before: Iterable[Line], now: Iterable[Line]) -> list[str]:
    """What ran before and does not any more, in lines for a reader."""
    known = {line["type"]: line for line in before}
    return [
        f"{line['type']}, {part}: {line[part]['error']} ({line[part]['where']})"
        for line in now
        for part in failures(line)
        if line["type"] in known and known[line["type"]][part]["runs"]
    ]
