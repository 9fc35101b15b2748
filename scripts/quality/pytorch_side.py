"""PyTorch beside: the same course as `quality train`, from the same weights, over the same windows.

Runs on whatever Python has torch, transformers and safetensors. Weights are fp32, as the other
side's masters are, and start as its checkpoint of step 0 has them; products are in bf16 under
autocast; AdamW is PyTorch's fused one, with weight decay on matrices alone. Learning rates are read
from the other side's log. Writes a line of JSON for each step, as that side does.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the config is a file
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

try:
    import numpy as np
    import torch
    from safetensors.torch import load_file
    from torch.nn.functional import cross_entropy
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError as missing:
    sys.exit(f"has no {missing.name}")

from layouts import gpt2_layout

DROPOUTS = ("attn_pdrop", "embd_pdrop", "resid_pdrop")
BETAS, EPS, WEIGHT_DECAY = (0.9, 0.95), 1e-8, 0.1  # model/optimizer/optimizer_kind.h


def model_of(given):
    shape = json.loads(given.config.read_text())
    shape.update(dict.fromkeys(DROPOUTS, 0.0))
    shape.pop("model_type")
    config = GPT2Config(**shape, use_cache=False, attn_implementation="sdpa")
    model = GPT2LMHeadModel(config).to(given.device).train()
    parameters, ours = dict(model.named_parameters()), load_file(given.start)
    with torch.no_grad():
        for name, theirs in gpt2_layout(parameters.__getitem__, config.n_layer).items():
            theirs.copy_(ours[name][: theirs.shape[0]])  # without the vocabulary's padding rows
    return model


def optimizer_for(model):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others}]
    return torch.optim.AdamW(groups, betas=BETAS, eps=EPS, weight_decay=0.0, fused=True)


def learning_rates(log):
    said = [json.loads(line) for line in log.read_text().splitlines()]
    return {line["step"]: line["learning_rate"] for line in said if "learning_rate" in line}


def step(model, windows, micro):
    """Forward and backward of micro-batches that make one batch; its mean loss."""
    total = 0.0
    for part in windows.split(micro):
        with torch.autocast(windows.device.type, dtype=torch.bfloat16, enabled=model.mixed):
            logits = model(part[:, :-1]).logits
        loss = cross_entropy(logits.float().flatten(0, 1), part[:, 1:].flatten())
        share = len(part) / len(windows)
        (loss * share).backward()
        total += loss.detach() * share
    return total


def train(given):
    rates = learning_rates(given.rates)
    model = model_of(given)
    model.mixed = given.precision == "bf16"
    optimizer = optimizer_for(model)
    every = np.fromfile(given.batches, dtype=np.uint16).reshape(-1, given.batch, given.seq + 1)
    start = time.perf_counter()
    with given.log.open("w") as log:
        for number in range(1, given.steps + 1):
            windows = torch.from_numpy(every[number - 1].astype(np.int64)).to(given.device)
            for group in optimizer.param_groups:
                group["lr"] = rates[number]
            loss = float(step(model, windows, given.micro or given.batch))
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            seconds = time.perf_counter() - start
            line = {"step": number, "loss": loss, "learning_rate": rates[number]}
            print(json.dumps({**line, "seconds": seconds}), file=log, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="gpt2's config.json")
    parser.add_argument("--start", type=Path, required=True, help="the checkpoint of step 0")
    parser.add_argument("--batches", type=Path, required=True, help="what `quality batches` wrote")
    parser.add_argument("--rates", type=Path, required=True, help="the log of `quality train`")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seq", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--micro", type=int, help="sequences at a time: whole batches")
    parser.add_argument("--precision", choices=("bf16", "fp32"), default="bf16")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


if __name__ == "__main__":
    train(arguments())
