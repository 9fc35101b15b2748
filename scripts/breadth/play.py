"""Plays small models of types, each in a process forked for it: two steps of training, and a
generation, by the code of `vramfit model`.

usage: play.py ASKED.json OUT.jsonl

`vramfit run` has it play on a GPU that is not there. With `facts` in ASKED, the stand-in's facts of
a machine without a GPU, it plays by itself on the CPU: NVIDIA's libraries, which torch wants, are
stood in for, and nothing else is.
"""

import gc
import json
import os
import signal
import sys
import tempfile
import traceback
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

LIMIT = 300  # seconds a type
BATCH, SEQ, NEW_TOKENS = 2, 64, 4
STEPS = 2


def load(asked):
    """vramfit's own, without what is built for another Python."""
    vramfit = ModuleType("vramfit")
    vramfit.__path__ = [asked["package"]]
    sys.modules["vramfit"] = vramfit
    if "facts" not in asked:
        return
    from vramfit.standin._door import Door

    door = Door(Path(asked["package"], "standin", "libvramfit_standin.so"))
    door.start(json.dumps(asked["facts"]))
    torch = Path(find_spec("torch").origin).parent
    door.load([*torch.glob("lib/*.so*"), *torch.glob("_C*.so")], Path(tempfile.mkdtemp()))


def what_is_assumed():
    """In words, or at which lines: of transformers, without where that is."""
    values = sys.modules.get("vramfit.standin._values")
    told = values.assumptions() if values else []
    return [each["what"].rpartition("site-packages/")[2] for each in told]


def attempt(play):
    """What it came to: where it failed, the exception, and the line that raised it."""
    try:
        play()
        found = {"runs": True}
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = "/".join(Path(last.filename).parts[-2:]) + f":{last.lineno}"
        said = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        found = {"runs": False, "error": said, "where": where}
    return {**found, "assumed": what_is_assumed()}


def play(kind, device):
    import torch
    from small import precision, small
    from vramfit._step import models
    from vramfit._step.asked import Asked
    from vramfit._step.generation import generate
    from vramfit._step.training import prepared, train

    models.DEVICE = device
    found = {"type": kind, "precision": precision(kind)}
    folder = tempfile.mkdtemp()

    def asked(seq, **more):
        return Asked(small(kind), folder, precision=precision(kind), batch=BATCH, seq=seq, **more)

    def training():
        how = asked(SEQ, train=True)
        model = prepared(models.build(how), how)
        found["parameters"] = sum(each.numel() for each in model.parameters())
        train(model, how, STEPS)

    def generation():
        how = asked(SEQ - NEW_TOKENS, generate=NEW_TOKENS)  # some are made for so many positions
        generate(models.build(how), how)

    for name, each in (("training", training), ("generation", generation)):
        found[name] = attempt(each)
        if device == "cuda" and torch.cuda.is_initialized():
            found[name]["peak"] = torch.cuda.max_memory_allocated()
            torch.cuda.reset_peak_memory_stats()
    return found


def begin(kind, device, folder):
    """A process; it leaves what it found in a file."""
    child = os.fork()
    if child:
        return child
    signal.alarm(LIMIT)
    with (folder / f"{kind}.said").open("w") as said:
        os.dup2(said.fileno(), sys.stdout.fileno())
        os.dup2(said.fileno(), sys.stderr.fileno())
    (folder / kind).write_text(json.dumps(play(kind, device)))
    os._exit(0)


def line(kind, status, folder):
    if status == 0:
        return json.loads((folder / kind).read_text())
    died = {"runs": False, "error": f"ended with status {os.waitstatus_to_exitcode(status)}"}
    died |= {"where": "", "assumed": []}
    return {"type": kind, "training": died, "generation": died}


def main(asked, out):
    load(asked)
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import torch
    import transformers  # before the forks: once
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)  # OpenMP's do not survive a fork
    device = "cpu" if "facts" in asked else "cuda"
    kinds = asked.get("types") or [
        kind for kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES if asked["only"] in kind
    ]
    gc.freeze()  # what is there already: collections of a type's process pass it over
    waiting, running = kinds[::-1], {}
    folder = Path(tempfile.mkdtemp())
    while waiting or running:
        while waiting and len(running) < asked["processes"]:
            kind = waiting.pop()
            running[begin(kind, device, folder)] = kind
        process, status = os.wait()
        kind = running.pop(process)
        out.write(json.dumps(line(kind, status, folder)) + "\n")
        out.flush()
        print(kind, file=sys.stderr, flush=True)
    if device == "cuda":
        torch.zeros(1, device="cuda")  # so that `vramfit run` has something to tell


if __name__ == "__main__":
    with Path(sys.argv[2]).open("w") as file:
        main(json.loads(Path(sys.argv[1]).read_text()), file)
