"""What the watched processes wrote down, as one answer."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from vramfit._bad_input import bad_input

SCHEMA = 1
_LEVELS = ("peak", "peak_reserved", "peak_device_used")

Json = dict[str, Any]


def process_that_used_most(folder: Path, command: list[str], status: int) -> Json | None:
    """None: the script failed before there was anything to tell. Raises BadInput where there
    never is."""
    for refusal in sorted(folder.glob("*.refused")):
        raise bad_input(f"run: {refusal.read_text()}")
    results = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    users = [result for result in results if result.get("uses_gpu")]
    if users:
        most = max(users, key=lambda user: max(card["peak_used"] for card in user["devices"]))
        return {**most, "processes": len(users)}
    if not (folder / "python").exists():
        raise bad_input(
            f"run: '{command[0]}' started no Python that vramfit reaches (by PYTHONPATH): a script "
            "of PyTorch's is what it runs, python train.py"
        )
    if status != 0:
        if (folder / "no-torch").exists():
            raise bad_input(
                f"run: {(folder / 'no-torch').read_text()} has no torch: pip install --no-deps "
                "torch, and what it needs but for nvidia-*, or the Python that has it"
            )
        return None
    raise bad_input(
        "run: the script imported torch and used no GPU: what asks for cuda is what is told"
        if results
        else "run: the script never imported torch: there is no GPU memory to tell of"
    )


def answer(facts: Json, command: list[str], status: int, took: Json) -> Json:
    """The answer as `--json` has it, but for its verdict, which `judged` adds."""
    device = max(range(len(took["devices"])), key=lambda index: took["devices"][index]["peak_used"])
    ran_out = took["out_of_memory"]
    fatal = bool(ran_out) and status != 0 and took["raised"] != "other"
    rows = [
        {"step": row["step"], "phase": row["phase"], **row["devices"][device]}
        for row in took["phases"]
    ]
    return {
        "run_schema": SCHEMA,
        "command": shlex.join(command),
        "exit_status": status,
        "ended": took["ended"] if status == 0 else "failed",
        "gpu": {
            "name": facts.get("gpu"),
            "title": facts["title"],
            "arch": facts.get("arch") or _arch(facts),
        },
        "gpus": len(took["devices"]),
        "processes": took["processes"],
        "vram": facts["listed_total"],
        "headroom": facts.get("headroom", facts["taken"]),
        "held_by_others": facts.get("held", 0),
        "driver_reserved": facts["listed_total"] - facts["total"],
        "context": facts["loads"]["context"] + facts["loads"]["kernels"],
        "uncertainty": facts.get("uncertainty"),
        "overhead_source": facts.get("overhead_source", "not told"),
        "peak": _peak(rows),
        "steps": took["steps"],
        "phases": rows,
        "devices": took["devices"],
        "host": took["host"],
        "out_of_memory": ran_out[-1] if fatal else None,
        "out_of_memory_caught": ran_out[: len(ran_out) - fatal],
        "batches": took["batches"],
        "unknown_calls": took["unknown_calls"],
        "unknown_reads": took["unknown_reads"],
        "assumptions": took["assumptions"],
        "doubtful_events": took["doubtful_events"],
        "versions": took["versions"],
    }


def _arch(facts: Json) -> str:
    return f"sm_{facts['attributes']['75']}{facts['attributes']['76']}"


def _peak(rows: list[Json]) -> Json:
    """The most of each level, and when most was allocated."""
    top = max(rows, key=lambda row: row["peak"])
    allocated, reserved, used = (max(row[level] for row in rows) for level in _LEVELS)
    return {
        "step": top["step"],
        "phase": top["phase"],
        "allocated": allocated,
        "reserved": reserved,
        "device_used": used,
    }
