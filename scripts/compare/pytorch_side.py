"""One process of PyTorch: trains a Hugging Face model of random weights for a few steps, and says
how fast and with how much memory.

Runs on whatever Python has torch and transformers, so it needs nothing of this project. With
--versions it prints what that Python has, as JSON, and measures nothing.

The optimizer is named after ours that keeps the same for each parameter:
  adamw-same    fused AdamW, everything in the precision given
  adamw-master  fused AdamW on fp32 weights, autocast to the precision given
  sgd           SGD, weights in the precision given
Dropout is off: our step has none.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time
import traceback
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # configs are files, weights are random

try:
    import torch
    import transformers
    from transformers import AutoModelForCausalLM
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
except ImportError as missing:
    sys.exit(f"has no {missing.name}")

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
DROPOUTS = ("attention_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop")
WARM_UP = 3
STEPS = 8


def versions():
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "gpu": gpu,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "torch_cuda": torch.version.cuda,
        "torch_cudnn": str(torch.backends.cudnn.version()) if gpu else None,
    }


class Gpu:
    """Time by events on the stream, so that nothing waits between steps."""

    def __init__(self):
        self.laps = []

    def lap(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.laps.append(event)

    def seconds(self):
        torch.cuda.synchronize()
        return [a.elapsed_time(b) / 1e3 for a, b in pairwise(self.laps)]

    def memory(self):
        """The peaks of all steps. What the allocator once took from the driver it still has, so
        that what the card has lost by now is the most that it lost."""
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        return {
            "allocated": torch.cuda.max_memory_allocated(),
            "reserved": torch.cuda.max_memory_reserved(),
            "device_used": total - free,
        }


class Cpu:
    """For tests: there is no memory to speak of."""

    def __init__(self):
        self.laps = []

    def lap(self):
        self.laps.append(time.perf_counter())

    def seconds(self):
        return [b - a for a, b in pairwise(self.laps)]

    def memory(self):
        return {}


DEVICES = {"cuda": Gpu, "cpu": Cpu}


def build(case):
    shape = json.loads(Path(case.config).read_text())
    shape.update({key: 0.0 for key in DROPOUTS if key in shape})
    config = CONFIG_MAPPING[shape.pop("model_type")](**shape)
    config.use_cache = False
    mixed = case.optimizer == "adamw-master"
    torch.manual_seed(0)
    with torch.device(case.device):
        model = AutoModelForCausalLM.from_config(
            config,
            dtype=torch.float32 if mixed else DTYPES[case.precision],
            attn_implementation="sdpa",
        )
    return model.train()


def optimizer_for(case, model):
    if case.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), lr=1e-5)
    return torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)


def run(case):
    device = DEVICES[case.device]()
    model = build(case)
    optimizer = optimizer_for(case, model)
    ids = torch.randint(0, model.config.vocab_size, (case.batch, case.seq), device=case.device)
    forward = torch.compile(model) if case.mode == "compile" else model

    def step():
        if case.optimizer == "adamw-master":
            autocast = torch.autocast(case.device, dtype=DTYPES[case.precision])
        else:
            autocast = contextlib.nullcontext()
        with autocast:
            out = forward(ids, labels=ids)
        out.loss.backward()
        del out
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    start = time.perf_counter()
    step()
    device.memory()  # waits
    first = time.perf_counter() - start
    for _ in range(case.warm_up - 1):
        step()
    device.lap()
    for _ in range(case.steps):
        step()
        device.lap()
    seconds = device.seconds()
    return {
        "tokens_per_second": case.batch * case.seq / statistics.median(seconds),
        **device.memory(),
        "step_seconds": seconds,
        "first_step_seconds": first,
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def wanted(error):
    """The second sentence of "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has …"."""
    sentences = str(error).split(". ")
    return sentences[1] if len(sentences) > 1 else sentences[0]


def first_line(error):
    """A line that names it; compilers' errors go on for pages."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--versions", action="store_true")
    parser.add_argument("--config", help="a Hugging Face config.json")
    parser.add_argument("--precision", choices=DTYPES)
    parser.add_argument("--optimizer", choices=("adamw-same", "adamw-master", "sgd"))
    parser.add_argument("--batch", type=int)
    parser.add_argument("--seq", type=int)
    parser.add_argument("--mode", choices=("eager", "compile"), default="eager")
    parser.add_argument("--device", choices=DEVICES, default="cuda")
    parser.add_argument("--warm-up", type=int, default=WARM_UP, help="steps (%(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS, help="timed (%(default)s)")
    parser.add_argument("--out", type=Path, help="a file for the result, as JSON")
    return parser.parse_args()


def main():
    case = arguments()
    if case.versions:
        print(json.dumps(versions()))
        return
    try:
        result = run(case)
    except torch.OutOfMemoryError as error:
        result = {"oom": wanted(error)}
    except Exception as error:
        traceback.print_exc()
        result = {"error": first_line(error)}
    text = json.dumps(result)
    if case.out:
        case.out.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
