"""Measure what PyTorch takes with what people use beside it: PEFT's adapters, bitsandbytes, TRL,
Liger, Accelerate, gradient scalers, loaders, expandable segments, torch.compile, diffusers, models
that see.

Its cases are in companions.json. One with `trainer` is measured as measure_pytorch_trainers.py
does. Others train a subject (subjects.py) for two steps, whose stages are read, or generate or
decode, with the keys of measure_pytorch_more.py and more: `adapter` (PEFT's config), `opt`
(torch.optim's or bitsandbytes' class, with `opt_args`), `amp`, `scaler`, `loader` (DataLoader's
arguments), `alloc` (the allocator's settings), `compile` (the mode), `accelerate` (Accelerator's
arguments), `liger`. Needs no network.

usage: measure_pytorch_companions.py [--only PART] [--out FILE] [--seconds N]
"""

import argparse
import gc
import json
from importlib import metadata
from pathlib import Path

import measure_pytorch as measure
import measure_pytorch_more as more
import torch
from measure_pytorch import DTYPES, Stages, memory
from subjects import SUBJECTS, build_diffusion
from torch.utils.data import DataLoader, Dataset

CASES = Path(__file__).with_name("companions.json")
STEPS = 2


class Batches(Dataset):
    """The same one for each micro-batch."""

    def __init__(self, batch, count):
        self.batch, self.count = batch, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index >= self.count:
            raise IndexError
        return {key: value.clone() for key, value in self.batch.items()}


def adapted(model, case):
    import peft  # noqa: PLC0415

    if case.get("quant"):
        model = peft.prepare_model_for_kbit_training(
            model,
            use_gradient_checkpointing=bool(case.get("ckpt")),
            gradient_checkpointing_kwargs={"use_reentrant": False},
        )
    if case.get("subject") == "diffusion":
        from diffusers.training_utils import cast_training_params  # noqa: PLC0415

        model.requires_grad_(requires_grad=False)
        model.add_adapter(peft.get_peft_config(dict(case["adapter"])))
        cast_training_params(model, dtype=torch.float32)
    else:
        config = {"task_type": "CAUSAL_LM", **case["adapter"]}
        model = peft.get_peft_model(model, peft.get_peft_config(config))
    return model if case.get("quant") else model.cuda()


def checkpointed(model, case):
    if case.get("subject") == "diffusion":
        model.enable_gradient_checkpointing()
    elif not case.get("quant"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if case.get("adapter"):
            model.enable_input_require_grads()


def optimizer_of(case, model):
    params = [p for p in model.parameters() if p.requires_grad]
    maker = getattr(torch.optim, case["opt"], None)
    if maker is None:
        import bitsandbytes  # noqa: PLC0415

        maker = getattr(bitsandbytes.optim, case["opt"])
    return maker(params, lr=1e-5, **case.get("opt_args", {}))


def on_gpu(batch):
    return {key: value.to("cuda", non_blocking=True) for key, value in batch.items()}


def train(case, model, config, stages):
    """By hand, as PyTorch's documentation does it."""
    subject = SUBJECTS[case.get("subject", "text")]
    optimizer = optimizer_of(case, model)
    scaler = torch.amp.GradScaler("cuda", enabled=bool(case.get("scaler")))
    forward = torch.compile(model, mode=case["compile"]) if case.get("compile") else model
    amp = DTYPES[case["amp"]] if case.get("amp") else None
    # What compiling takes is not read.
    steps = range(0 if case.get("compile") else 1, STEPS + 1)
    batches = Batches(subject.batch(case, config), len(steps))
    for step, batch in zip(
        steps, DataLoader(batches, batch_size=None, **case.get("loader", {})), strict=True
    ):
        kept = on_gpu(batch)
        with torch.autocast("cuda", dtype=amp, enabled=amp is not None):
            loss = subject.loss(forward, kept)
        stages.read(f"step{step}.forward")
        scaler.scale(loss).backward()
        del loss
        stages.read(f"step{step}.backward")
        scaler.step(optimizer)
        scaler.update()
        stages.read(f"step{step}.optimizer")
        optimizer.zero_grad(set_to_none=True)
        stages.read(f"step{step}.zero_grad")
    stages.read("end")


def accelerated(case, model, config, stages):
    """As Accelerate's documentation accumulates gradients."""
    from accelerate import Accelerator  # noqa: PLC0415

    subject = SUBJECTS[case.get("subject", "text")]
    accelerator = Accelerator(**case["accelerate"])
    count = accelerator.gradient_accumulation_steps
    batches = Batches(subject.batch(case, config), STEPS * count)
    loader = DataLoader(batches, batch_size=None, **case.get("loader", {}))
    model, optimizer, loader = accelerator.prepare(model, optimizer_of(case, model), loader)
    stages.read("prepared")
    for i, batch in enumerate(loader):
        with accelerator.accumulate(model):
            loss = subject.loss(model, batch)
            stages.read(f"micro{i}.forward")
            accelerator.backward(loss)
            del loss
            stages.read(f"micro{i}.backward")
            optimizer.step()
            optimizer.zero_grad()
            stages.read(f"micro{i}.optimizer")
    stages.read("end")


def run_training(case):
    stages = Stages()
    torch.zeros(1, device="cuda")
    stages.read("context")
    model = SUBJECTS[case.get("subject", "text")].build(case)
    config, params = model.config, sum(p.numel() for p in model.parameters())
    stages.read("load")
    if case.get("adapter"):
        model = adapted(model, case)
        stages.read("adapted")
    model.train()
    if case.get("ckpt"):
        checkpointed(model, case)
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    (accelerated if case.get("accelerate") else train)(case, model, config, stages)
    return {"stages": stages.readings, "params": params, "trainable": trainable}


def run_decoding(case):
    """A VAE's, of latents of so many rows."""
    torch.zeros(1, device="cuda")
    result = {"context": memory()}
    vae = build_diffusion(case).eval()
    if case.get("tiling"):
        vae.enable_tiling()
    result["load"] = memory()
    result["points"] = []
    for batch, side in case["points"]:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        shape = (batch, vae.config.latent_channels, side, side)
        noise = torch.randn(shape, device="cuda", dtype=DTYPES[case["dtype"]])
        with torch.no_grad():
            image = vae.decode(noise, return_dict=False)[0]
        result["points"].append({"b": batch, "s": side, **memory()})
        del noise, image
    return result


def run(case):
    if case.get("alloc"):
        torch._C._accelerator_setAllocatorSettings(case["alloc"])
    if "trainer" in case:
        # bitsandbytes comes with it, which asks CUDA as it is imported: nobody could fork then.
        import measure_pytorch_trainers as trainers  # noqa: PLC0415

        return trainers.run(case)
    if case.get("quant"):
        more.save_elsewhere(case)
    if case["mode"] == "train":
        return run_training(case) | ({"outliers": more.OUTLIERS} if more.OUTLIERS else {})
    return run_decoding(case) if case.get("subject") else more.run(case)


def environment():
    packages = (
        "trl",
        "peft",
        "accelerate",
        "liger-kernel",
        "datasets",
        "bitsandbytes",
        "diffusers",
    )
    return {**measure.environment(), **{name: metadata.version(name) for name in packages}}


def cases(only):
    """Those with `only` in what they say, each with its model's shape."""
    told = json.loads(CASES.read_text())
    chosen = [case for case in told["cases"] if only in json.dumps(case)]
    return [{"model": c["model"], "arch": told["models"][c["model"]], **c} for c in chosen]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What PyTorch's companions take of a GPU.")
    parser.add_argument("--only", default="", help="cases with this in companions.json's line")
    parser.add_argument("--out", default="pytorch_companions.jsonl")
    parser.add_argument("--seconds", type=float, default=540)
    given = parser.parse_args()
    measure.every(cases(given.only), given.out, given.seconds, run, environment)
