"""Plays scripts under `vramfit run`, each in a process forked from this one, which has imported
what they import: that takes ten times as long as they do. A line of JSON names a script and changes
to it; a line of what its process took answers.
"""

import gc
import json
import os
import runpy
import sys
import traceback
from pathlib import Path

import accelerate  # noqa: F401
import peft  # noqa: F401
import torch
from transformers import LlamaForCausalLM, Trainer, TrainingArguments  # noqa: F401
from vramfit.standin import _forks
from vramfit.standin._changes import Changes
from vramfit.standin._run import watched_process


def play(script: str, changes: list[str]) -> None:
    """Ends the process. What the script prints is in a file beside it."""
    try:
        with Path(script).with_name("output").open("wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        torch.cuda._is_in_bad_fork = lambda: False  # no driver is there that forks would confuse
        _forks.begin()
        watched_process()._changes = Changes(changes)
        sys.argv = [script]
        runpy.run_path(script, run_name="__main__")
        _forks.end()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


gc.freeze()  # no collection of a forked process looks at what all of them have
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        play(**json.loads(line))
    _, status = os.waitpid(child, 0)
    print(json.dumps({"status": status, "took": _forks.took(child)}), flush=True)
