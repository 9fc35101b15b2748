"""make tapes: what transformers' causal language models ask of PyTorch, op by op, recorded on the
stand-in for any size.

usage: vramfit run --gpu h200 -- python scripts/tapes OUT [TYPE…]

Writes OUT/TYPE.tape for each type, OUT/TYPE.VARIANT.tape where a type's code does other things by
numbers that configs have (variants.py), and OUT/failed.jsonl: why there is none of the others. Says
of each what moved since data/tapes, and where first.
"""

import gc
import json
import os
import signal
import sys
import traceback
from itertools import zip_longest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
import transformers
from record import record
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from variants import names_of

_SHIPPED = Path(__file__).resolve().parents[2] / "data" / "tapes"
_SECONDS = 300  # of a core, a type


def _recorded(name, out):
    """In a process of its own; returns why it failed, or None."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        try:
            (out / f"{name}.tape").write_text(record(name))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
            os.write(writer, said.encode()[:4000])
            os._exit(1)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return None if status == 0 else said or f"ended with {os.waitstatus_to_exitcode(status)}"


def _moved(name, out):
    """In a line."""
    kept = _SHIPPED / f"{name}.tape"
    if not kept.exists():
        return "new"
    lines, before = (
        (folder / f"{name}.tape").read_text().splitlines() for folder in (out, _SHIPPED)
    )
    if lines == before:
        return "as it was"
    part = ""
    for number, (line, earlier) in enumerate(zip_longest(lines, before, fillvalue=""), 1):
        if line.startswith("program "):
            part = line
        if line != earlier:
            change = f"line {number}, {part or 'its head'}: '{earlier}' is '{line}'"
            return f"{len(before)} lines were, {len(lines)} are; first {change}"
    raise AssertionError("lines that differ, and none does")


def main(out, kinds):
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    # By plain products attention's output lies by heads, so that contiguous() copies it: what it
    # leaves as it is Python does not ask of the dispatcher.
    for enable in ("enable_cudnn_sdp", "enable_flash_sdp", "enable_mem_efficient_sdp"):
        getattr(torch.backends.cuda, enable)(False)
    gc.freeze()  # what is there already: collections of a type's process pass it over
    with (out / "failed.jsonl").open("w") as failed:
        for kind in kinds or MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
            for name in names_of(kind) if "." not in kind else [kind]:
                why = _recorded(name, out)
                print(f"{name}: {_moved(name, out) if why is None else why}", flush=True)
                if why is not None:
                    failed.write(json.dumps({"type": name, "why": why}) + "\n")
                    failed.flush()
    torch.zeros(1, device="cuda")  # so that `vramfit run` has something to tell


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
