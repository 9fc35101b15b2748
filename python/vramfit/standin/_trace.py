"""A recorded run in Chrome's trace event format, which https://ui.perfetto.dev opens."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any

# By how much an action of PyTorch's memory history changes what is allocated, and reserved.
_ALLOCATED = {"alloc": 1, "free_completed": -1}
_RESERVED = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


# As PyTorch's allocator rounds what is asked for. Bytes.
_UNIT = 512


def trace(
    snapshot: dict[str, Any], turns: list[tuple[int, str, int]], devices: list[dict[str, Any]]
) -> str:
    """Counters of what is allocated and reserved on each GPU, stages as slices. A microsecond is
    one event of PyTorch's history: nothing was timed."""
    events: list[dict[str, Any]] = []
    for device, history in enumerate(snapshot["device_traces"]):
        if not history:
            continue
        card = {"ph": "M", "pid": device, "name": "process_name", "args": {"name": f"GPU {device}"}}
        events += [card, *_counters(history, device), *_slices(history, device, turns)]
    about = {
        "time": "1 us is one event of PyTorch's memory history; nothing was timed",
        "bytes": "asked for by tensors, rounded up as PyTorch does; held for them by its allocator",
        "beside": [device["libraries"] for device in devices],
    }
    return json.dumps({"displayTimeUnit": "ns", "otherData": about, "traceEvents": events})


def _counters(history: list[dict[str, Any]], device: int) -> Any:
    levels = {"allocated": 0, "reserved": 0}
    for moment, entry in enumerate(history):
        for name, signs in (("allocated", _ALLOCATED), ("reserved", _RESERVED)):
            sign = signs.get(entry["action"])
            if sign is None:
                continue
            levels[name] += sign * -(-entry["size"] // _UNIT) * _UNIT
            yield {
                "ph": "C",
                "pid": device,
                "name": name,
                "ts": moment,
                "args": {"bytes": levels[name]},
            }
        if entry["action"] == "oom":
            yield {"ph": "i", "pid": device, "s": "g", "name": "out of memory", "ts": moment}


def _slices(history: list[dict[str, Any]], device: int, turns: list[tuple[int, str, int]]) -> Any:
    """Stages begin and end between two events of the history."""
    moments = [entry["time_us"] for entry in history]
    begins = 0
    for step, stage, ended in turns:
        ends = bisect_right(moments, ended)
        if ends > begins:
            yield {
                "ph": "X",
                "pid": device,
                "tid": 1,
                "name": stage,
                "ts": begins,
                "dur": ends - begins,
                "args": {"step": step},
            }
        begins = ends
