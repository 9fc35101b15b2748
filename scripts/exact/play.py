"""Plays reference cases with this Python's PyTorch, each in a process forked for it.

usage: play.py CASES.json OUT.jsonl PROCESSES

Cases are `{"name", "program", "case"}`, the program a module of data/reference whose run() measures
such cases. Each gives a line as it ends: its name, what run() returned, its seconds, and the bytes
that the host's memory held at most beyond what was there before: imports that programs share are
done once.
"""

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

LIMIT = 300  # seconds a case
KIB = 1024


def play(asked, folder):
    program = importlib.import_module(asked["program"])
    if hasattr(program, "CHECKPOINTS"):
        program.CHECKPOINTS = folder / "models"  # others write theirs at the same time
    try:
        return program.run(asked["case"])
    except torch.OutOfMemoryError as error:
        return {"oom": str(error)[:300]}
    except Exception as error:
        return {"error": repr(error)[:500], "trace": traceback.format_exc()[-1200:]}


class Played:
    """One case, under way."""

    def __init__(self, asked):
        self.asked, self.began = asked, time.monotonic()
        self.folder = Path(tempfile.mkdtemp(prefix="vramfit-exact-"))
        self.process = os.fork()
        if self.process == 0:
            signal.alarm(LIMIT)
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # trainers talk
            result = play(asked, self.folder)
            (self.folder / "result").write_text(json.dumps(result))
            os._exit(0)

    def line(self, status, most):
        """Once it is over."""
        if status == 0:
            result = json.loads((self.folder / "result").read_text())
        else:
            result = {"error": f"died with status {os.waitstatus_to_exitcode(status)}"}
        shutil.rmtree(self.folder)
        seconds = round(time.monotonic() - self.began, 2)
        return {"name": self.asked["name"], "result": result, "seconds": seconds, "host": most}


def main(cases, out, processes):
    waiting, running, begun = cases[::-1], {}, len(cases)
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    while waiting or running:
        while waiting and len(running) < processes:
            played = Played(waiting.pop())
            running[played.process] = played
        process, status, usage = os.wait4(-1, 0)
        line = running.pop(process).line(status, usage.ru_maxrss * KIB - before)
        out.write(json.dumps(line) + "\n")
        out.flush()
        done = begun - len(waiting) - len(running)
        print(f"[{done}/{begun}] {line['name']}: {line['seconds']} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    with Path(sys.argv[2]).open("w") as file:
        main(json.loads(Path(sys.argv[1]).read_text()), file, int(sys.argv[3]))
    torch.zeros(1, device="cuda")  # so that `vramfit run` has something to tell
