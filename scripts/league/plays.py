"""Rows that are played on the stand-in, a forked process each, by the Python that has PyTorch."""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch

LIMIT = 300  # seconds


def _line(run: Callable, asked: dict) -> dict:
    begun = time.perf_counter()
    try:
        run(asked)
        told = {
            "allocated": torch.cuda.max_memory_allocated(),
            "reserved": torch.cuda.max_memory_reserved(),
        }
    except torch.OutOfMemoryError:
        told = {"outcome": "OOM"}
    except Exception as error:  # of whatever stops it
        told = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        traceback.print_exc()
    return {"id": asked["id"], **told, "seconds": round(time.perf_counter() - begun, 1)}


def _append(out: Path, line: dict) -> None:
    with out.open("a") as file:
        file.write(json.dumps(line) + "\n")


def every(run: Callable) -> None:
    """All of ASKED.json, a line of OUT.jsonl as each ends: the most that was allocated and
    reserved, that there was no room, or `error`. `run` takes what is asked of one. One alone is no
    child's: `vramfit run` tells of it."""
    out = Path(sys.argv[2])
    every_asked = json.loads(Path(sys.argv[1]).read_text())
    if len(every_asked) == 1:
        signal.alarm(LIMIT)
        _append(out, _line(run, every_asked[0]))
        return
    for asked in every_asked:
        child = os.fork()
        if child == 0:
            signal.alarm(LIMIT)
            _append(out, _line(run, asked))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            died = f"died with status {os.waitstatus_to_exitcode(status)}"
            _append(out, {"id": asked["id"], "error": died, "seconds": LIMIT})
    torch.zeros(1, device="cuda")  # so that `vramfit run` has something to tell
