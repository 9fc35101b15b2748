"""What the watched processes wrote down, as one answer."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from vramfit._bad_input import bad_input
from vramfit._dry_run._serving import serving

SCHEMA = 1

Json = dict[str, Any]


def process_that_used_most(folder: Path, command: list[str], status: int) -> Json | None:
    """None: the script failed before there was anything to tell. Raises BadInput where there
    never is."""
    for refusal in sorted(folder.glob("*.refused")):
        why = refusal.read_text() or f"{folder} has no room: set TMPDIR to a folder that has room"
        raise bad_input(f"run: {why}")
    results = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    users = [result for result in results if result.get("uses_gpu")]
    if users:
        most = max(users, key=lambda user: max(_used(user)))
        return {**most, "vllm": _vllm(most, results), "processes": len(users)}
    if not (folder / "python").exists():
        raise bad_input(
            f"run: '{command[0]}' started no Python that vramfit reaches by PYTHONPATH; what it "
            "can run is a script of PyTorch's, python train.py"
        )
    if status != 0:
        if (folder / "no-torch").exists():
            raise bad_input(
                f"run: {(folder / 'no-torch').read_text()} has no torch; give the Python that has, "
                "or install it (nvidia-* packages are not needed)"
            )
        return None
    raise bad_input(
        "run: the script put nothing on a GPU; what it puts on cuda is what can be told"
        if results
        else "run: the script never imported torch, so there is no GPU memory to tell of"
    )


def _vllm(most: Json, results: list[Json]) -> Json | None:
    """Its worker's accounts, with what another of its processes refused."""
    refusals = [told["vllm"]["refusal"] for told in results if told.get("vllm")]
    if not refusals:
        return None
    refusal = next((text for text in refusals if text is not None), None)
    return {**(most["vllm"] or {}), "refusal": refusal}


def answer(facts: Json, command: str, status: int, took: Json) -> Json:
    """The answer as `--json` has it, but for its verdict: of the GPU that was used most."""
    gpu = _most_used(took)
    ran_out = took["out_of_memory"]
    ours = took["ended"] in ("steps", "steady") and took["in_kernel"]
    failed = status != 0 and not ours
    fatal = bool(ran_out) and failed and took["ran_out"]
    stages = _stages(took, gpu)
    levels = _levels(stages)
    engine = serving(took["vllm"], stages, facts["held"], fatal)
    top = max(stages, key=lambda stage: stage["peak"])
    return {
        "run_schema": SCHEMA,
        "command": command,
        "exit_status": status,
        "ended": _ended(took, failed, fatal, engine),
        "steps": took["steps"],
        "batches": took["batches"],
        "compile": took["compile"],
        "vllm": engine,
        "longest": took["longest"],
        "processes": took["processes"],
        "rank": took["rank"],
        "versions": took["versions"],
        "gpu": {"name": facts["gpu"], "title": facts["title"], "arch": facts["arch"]},
        "vram": facts["listed_total"],
        "headroom": facts["headroom"],
        "held_by_others": facts["held"],
        "overhead_source": facts["overhead_source"],
        "overhead_parts": {
            "driver_reserved": facts["listed_total"] - facts["total"],
            "context": facts["loads"]["context"] + facts["loads"]["kernels"],
        },
        "uncertainty": {
            "reserved": math.ceil(
                facts["int8_reserved_error"] * levels["reserved"] if took["int8_outliers"] else 0
            ),
            "overhead_less": facts["uncertainty"]["less"],
            "overhead_more": facts["uncertainty"]["more"],
        },
        "levels": levels,
        "levels_of_late_gpu": None,
        "peak": {"stage": top["name"], "step": top["step"]},
        "holders": took["holders"] and took["holders"][gpu],
        "holders_of_stages": _holders_of_stages(took, gpu),
        "real": None,
        "stages": stages,
        "gpus": [_levels(_stages(took, index)) for index in range(len(_used(took)))],
        "host": {
            "page_locked": took["host"]["peak_locked"],
            "managed": took["host"]["peak_managed"],
            "resident": took["host"]["resident"],
            "hollow": took["host"]["hollow"],
        },
        "checkpoints": took["checkpoints"],
        "out_of_memory": ran_out[-1] if fatal else None,
        "out_of_memory_caught": ran_out[: len(ran_out) - fatal],
        "kernels": took["kernels"],
        "assumptions": took["assumptions"],
        "unknown_calls": took["unknown_calls"],
        "unknown_reads": took["unknown_reads"],
        "doubtful_events": took["doubtful_events"],
        "advice": None,
    }


def _ended(took: Json, failed: bool, fatal: bool, engine: Json | None) -> str:
    if not failed:
        how: str = took["ended"]
        return how
    if fatal:
        return "memory"
    return "refused" if engine is not None and engine["refusal"] is not None else "failed"


def _holders_of_stages(took: Json, gpu: int) -> list[Json]:
    return [
        {"step": told["step"], "stage": told["stage"], "holders": told["gpus"][gpu]}
        for told in took["holders_of_stages"] or ()
        if gpu < len(told["gpus"])
    ]


def _most_used(took: Json) -> int:
    used = _used(took)
    return used.index(max(used))


def _used(took: Json) -> list[int]:
    """Of each GPU, at most."""
    rows = [row["devices"] for row in took["stages"]]
    return [max(device["peak_device_used"] for device in gpu) for gpu in zip(*rows, strict=True)]


def widen(answer: Json, late: Json) -> None:
    """By the same script's run on a GPU that is always behind."""
    answer["levels_of_late_gpu"] = late["levels"]
    end = late["out_of_memory"]
    reserved = late["levels"]["reserved"] + (end["requested"] if end else 0)
    more = reserved - answer["levels"]["reserved"]
    answer["uncertainty"]["reserved"] = max(answer["uncertainty"]["reserved"], more)


def _stages(took: Json, gpu: int) -> list[Json]:
    return [
        {"step": row["step"], "name": row["stage"], **row["devices"][gpu]} for row in took["stages"]
    ]


def _levels(stages: list[Json]) -> Json:
    return {
        level: max(stage[peak] for stage in stages)
        for level, peak in (
            ("allocated", "peak"),
            ("reserved", "peak_reserved"),
            ("device_used", "peak_device_used"),
        )
    }
