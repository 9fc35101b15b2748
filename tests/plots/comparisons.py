"""A run of both programs in turn, as `make compare-pytorch` writes it."""

import json
from pathlib import Path
from typing import Any

ROW = "Training/tinyllama-1.1b/bf16/adamw-same/batch:8/seq:2048"


def side(speed: float, allocated: float) -> dict[str, Any]:
    return {
        "tokens_per_second": speed,
        "allocated": allocated,
        "reserved": allocated + 1e9,
        "device_used": allocated + 2e9,
        "seconds": 9.0,
        "command": "build/bench",
    }


DOCUMENT = {
    "schema": 1,
    "context": {
        "date": "2026-11-21T12:00:00+00:00",
        "commit": "abc1234",
        "gpu": "NVIDIA H200",
        "driver": "580.1",
        "cuda": "13.0",
        "torch": "2.11.0",
        "transformers": "5.17.0",
        "command": "make compare-pytorch",
    },
    "cases": [
        {
            "row": ROW,
            "title": "tinyllama-1.1b",
            "vramfit": side(80_000.0, 22e9),
            "eager": side(50_000.0, 44e9),
            "compile": {"oom": "Tried to allocate 2.00 GiB"},
        },
        {
            "row": ROW.replace("batch:8", "batch:9"),
            "title": "tinyllama-1.1b",
            "vramfit": {"error": "died"},
            "eager": side(1.0, 1e9),
        },
    ],
}


def write(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps({**DOCUMENT, **changes}))
    return path
