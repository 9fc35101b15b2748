"""Plays reference cases with this Python's PyTorch, each in a process forked for it.

usage: play.py CASES.json OUT.jsonl PROCESSES

Cases are `{"name", "program", "case"}`, the program a module of data/reference whose run() measures
such cases. Each gives a line as it ends: its name, what run() returned, its seconds, and the bytes
that it held of the host's memory at most, beyond those of the program's imports. Imports that
programs share are done once.
"""

import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "data" / "reference"))

import measure_pytorch  # noqa: F401  what programs share
import torch

LIMIT = 600  # seconds a case
KIB = 1024


def held():
    """Bytes of the host's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def play(program, case):
    try:
        return program.run(case)
    except torch.OutOfMemoryError as error:
        return {"oom": str(error)[:300]}
    except Exception as error:
        return {"error": repr(error)[:500], "trace": traceback.format_exc()[-1200:]}


class Played:
    """One case, under way."""

    def __init__(self, asked, beside):
        self.asked, self.began = asked, time.monotonic()
        self.folder = Path(tempfile.mkdtemp(dir=beside))
        self.process = os.fork()
        if self.process == 0:
            signal.alarm(LIMIT)
            with (self.folder / "said").open("w") as said:
                os.dup2(said.fileno(), sys.stdout.fileno())
                os.dup2(said.fileno(), sys.stderr.fileno())
            # Compiled anew, as where it was measured: compiling takes memory of its own.
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(self.folder / "inductor")
            os.environ["TRITON_CACHE_DIR"] = str(self.folder / "triton")
            program = importlib.import_module(asked["program"])
            more = importlib.import_module("measure_pytorch_more")
            more.CHECKPOINTS = self.folder / "models"  # others write theirs meanwhile
            before = held()
            found = {"before": before, "result": play(program, asked["case"])}
            (self.folder / "found").write_text(json.dumps(found))
            os._exit(0)

    def line(self, status, most):
        """Once it is over."""
        if status == 0:
            found = json.loads((self.folder / "found").read_text())
        else:
            died = f"died with status {os.waitstatus_to_exitcode(status)}"
            trace = (self.folder / "said").read_text(errors="replace")[-1200:]
            found = {"before": 0, "result": {"error": died, "trace": trace}}
        shutil.rmtree(self.folder)
        return {
            "name": self.asked["name"],
            "seconds": round(time.monotonic() - self.began, 2),
            "host": most - found["before"],
            "result": found["result"],
        }


def main(asked, out, processes):
    cases = json.loads(asked.read_text())
    gc.freeze()  # what is there already: collections of a case's process pass it over
    waiting, running, begun = cases[::-1], {}, len(cases)
    while waiting or running:
        while waiting and len(running) < processes:
            played = Played(waiting.pop(), asked.parent)
            running[played.process] = played
        process, status, usage = os.wait4(-1, 0)
        line = running.pop(process).line(status, usage.ru_maxrss * KIB)
        out.write(json.dumps(line) + "\n")
        out.flush()
        done = begun - len(waiting) - len(running)
        print(f"[{done}/{begun}] {line['name']}: {line['seconds']} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    with Path(sys.argv[2]).open("w") as file:
        main(Path(sys.argv[1]), file, int(sys.argv[3]))
    torch.zeros(1, device="cuda")  # so that `vramfit run` has something to tell
