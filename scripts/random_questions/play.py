"""Draws questions and plays each with this Python's PyTorch, in a process forked for it.

usage: play.py SEED FIRST COUNT STRIDE OUT.jsonl [TYPE…]

Of a seed's questions, from number FIRST on below COUNT, each STRIDE-th; their types take turns.

`vramfit run` has it play on a GPU that is not there. A question gives a line as it ends: what was
asked, and what each stage of a step took at most, allocated and reserved; or `failed`, why it did
not run to its end.
"""

import json
import os
import random
import signal
import sys
import tempfile
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).resolve().parent))

_PACKAGE = Path(__file__).resolve().parents[2] / "build" / "python" / "vramfit"
LIMIT = 300  # seconds a question
STEPS = (1, 2)  # those of training; generation is one


def load():
    """vramfit's own package, without what is built for another Python."""
    package = ModuleType("vramfit")
    package.__path__ = [str(_PACKAGE)]
    sys.modules["vramfit"] = package


def _peaks(took):
    found = {}
    for stage in took["stages"]:
        device = stage["devices"][0]
        if stage["step"] in STEPS:
            found[f"{stage['step']}.{stage['stage']}"] = [device["peak"], device["peak_reserved"]]
    return found


def _step(question, folder):
    """In the forked process."""
    import torch
    from vramfit._step.asked import Asked
    from vramfit._step.run import run
    from vramfit.standin import _forks

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    # It has a context from the process that it was forked from: nothing was put into it there.
    torch.cuda._is_in_bad_fork = lambda: False
    signal.alarm(LIMIT)
    _forks.begin()
    # Building a model on the GPU imports torchaudio, which makes a tensor there for good: it was
    # imported before the forks. from_pretrained, which reads 4 bits, builds on the meta device.
    _kept = None if question["asked"].get("quant") else torch.zeros(1, device="cuda")
    run(Asked(question["config"], folder, **question["asked"]))
    _forks.end()


def played(question):
    from vramfit.standin import _forks

    with tempfile.TemporaryDirectory() as folder:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _step(question, folder)
            except BaseException as error:  # whatever it is that such a model does
                said = " ".join(f"{type(error).__name__}: {error}".split())
                os.write(writer, said.encode()[:200])
            os._exit(1)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            said = pipe.read()
        _, status = os.waitpid(child, 0)
        took = _forks.took(child)
    if took is None or said:
        return {"failed": said or f"ended with {os.waitstatus_to_exitcode(status)}"}
    return {"peaks": _peaks(took)}


def main(seed, numbers, out, only):
    load()
    import peft  # noqa: F401  before the forks: once
    import torch
    import transformers
    from dice import kinds, question

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)  # OpenMP's do not survive a fork
    every = only or kinds()
    for number in numbers:
        dice = random.Random(f"{seed}.{number}")
        kind = every[number % len(every)]
        asked = question(kind, dice)
        line = {"question": f"{seed}.{number}", "type": kind, **asked, **played(asked)}
        out.write(json.dumps(line) + "\n")
        out.flush()
    torch.zeros(1, device="cuda")  # so that `vramfit run` has something to tell


if __name__ == "__main__":
    with Path(sys.argv[5]).open("w") as file:
        main(sys.argv[1], range(*map(int, sys.argv[2:5])), file, sys.argv[6:])
