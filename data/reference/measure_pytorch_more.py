"""Measure more of what PyTorch and transformers take: models read from files, bitsandbytes' formats
and optimizers, torch.compile, several micro-batches.

As measure_pytorch.py, whose keys and readings it shares, with more keys: `pretrained`
(from_pretrained of a checkpoint of random weights), `quant` (int8, nf4, nf4-dq, fp4: read so),
`accum` (micro-batches in a step), `compile`, `opt` of bitsandbytes, `gen` (what else generate()
gets), `time_tokens`. Prompts have no padding: they are drawn from 1 on. Needs bitsandbytes, peft
and accelerate for some cases.

usage: measure_pytorch_more.py CASES.json OUT.jsonl [seconds]
"""

import gc
import hashlib
import json
import os
import shutil
import time
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import measure_pytorch as measure
import torch
from measure_pytorch import DTYPES, memory
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

CHECKPOINTS = Path("/dev/shm/models")
# How many columns of an input hold an outlier, of each product of LLM.int8() in turn.
OUTLIERS = []
BITSANDBYTES = {"adamw8bit": "AdamW8bit", "paged_adamw8bit": "PagedAdamW8bit"}


def config_of(case):
    arch = dict(case["arch"])
    config = CONFIG_MAPPING[arch.pop("model_type")](**arch)
    config.use_cache = case["mode"] == "infer"
    return config


def checkpoint_of(case):
    digest = hashlib.sha256(json.dumps(case["arch"], sort_keys=True).encode()).hexdigest()
    return CHECKPOINTS / f"{case['model']}-{digest[:8]}-{case['dtype']}"


def save(case):
    """A checkpoint of the case's shape, in place of the last one."""
    folder = checkpoint_of(case)
    if (folder / "config.json").exists():
        return
    shutil.rmtree(CHECKPOINTS, ignore_errors=True)
    with torch.device("cuda"):
        # generate() follows what the checkpoint says of the cache, and other cases read it too.
        config = config_of({**case, "mode": "infer"})
        model = AutoModelForCausalLM.from_config(config, dtype=DTYPES[case["dtype"]])
    model.save_pretrained(folder)


def save_elsewhere(case):
    """In a process of its own, so that this one's context stays fresh."""
    pid = os.fork()
    if pid == 0:
        save(case)
        os._exit(0)
    if os.waitpid(pid, 0)[1] != 0:
        raise RuntimeError("no checkpoint")


def quantization_of(case):
    from transformers import BitsAndBytesConfig  # noqa: PLC0415

    quant = case["quant"]
    if quant == "int8":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4" if "nf4" in quant else "fp4",
        bnb_4bit_use_double_quant=quant.endswith("dq"),
        bnb_4bit_compute_dtype=DTYPES[case["dtype"]],
        bnb_4bit_quant_storage=DTYPES.get(case.get("storage")),
    )


def count_outliers():
    """What LLM.int8() takes hangs on these values."""
    from bitsandbytes import functional  # noqa: PLC0415

    quantize = functional.int8_vectorwise_quant

    def counting(tensor, threshold=0.0):
        quantized = quantize(tensor, threshold=threshold)
        if quantized[2] is not None:  # otherwise it is a weight
            OUTLIERS.append(quantized[2].numel())
        return quantized

    functional.int8_vectorwise_quant = counting


def build(case):
    torch.manual_seed(0)
    options = {"dtype": DTYPES[case["dtype"]], "attn_implementation": case.get("attn", "sdpa")}
    if not case.get("pretrained") and not case.get("quant"):
        with torch.device("cuda"):
            return AutoModelForCausalLM.from_config(config_of(case), **options)
    if case.get("quant"):
        options["quantization_config"] = quantization_of(case)
    if case.get("quant") == "int8":
        count_outliers()
    folder = checkpoint_of(case)
    model = AutoModelForCausalLM.from_pretrained(folder, device_map="cuda", **options)
    model.config.use_cache = case["mode"] == "infer"
    return model


def adapt(model, case):
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training  # noqa: PLC0415

    if case.get("quant"):
        model = prepare_model_for_kbit_training(
            model,
            use_gradient_checkpointing=bool(case.get("ckpt")),
            gradient_checkpointing_kwargs={"use_reentrant": False},
        )
    lora = LoraConfig(
        r=case["lora"]["r"],
        lora_alpha=16,
        target_modules=case["lora"]["targets"],
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(model, lora)
    return model if case.get("quant") else model.cuda()


def optimizer_of(case, model):
    params = [p for p in model.parameters() if p.requires_grad]
    if case["opt"] not in BITSANDBYTES:
        return measure.optimizer_for(case, params)
    import bitsandbytes  # noqa: PLC0415

    return getattr(bitsandbytes.optim, BITSANDBYTES[case["opt"]])(params, lr=1e-5)


def train_step(model, optimizer, ids, case, *, stages=None, tag=""):
    """One step; with `stages`, readings of the first and the last micro-batch and what follows."""

    def record(name):
        if stages is not None:
            stages[tag + name] = memory()
            torch.cuda.reset_peak_memory_stats()

    if stages is not None:
        torch.cuda.reset_peak_memory_stats()
    count = case.get("accum", 1)
    for i in range(count):
        number = "" if count == 1 else str(i + 1)
        is_read = i in {0, count - 1}
        amp = DTYPES[case["amp"]] if case.get("amp") else None
        with torch.autocast("cuda", dtype=amp, enabled=amp is not None):
            out = model(ids, labels=ids)
        loss = out.loss if count == 1 else out.loss / count
        if is_read:
            record("forward" + number)
        loss.backward()
        del out, loss
        if is_read:
            record("backward" + number)
    optimizer.step()
    record("optimizer")
    optimizer.zero_grad(set_to_none=True)
    record("zero_grad")


def time_generation(model, ids, case, point):
    count = case["time_tokens"]
    options = {"do_sample": False, "pad_token_id": 0, **case.get("gen", {})}

    def seconds(tokens):
        torch.cuda.synchronize()
        start = time.time()
        model.generate(ids, max_new_tokens=tokens, min_new_tokens=tokens, **options)
        torch.cuda.synchronize()
        return time.time() - start

    for _ in range(2):
        seconds(count)
    first = seconds(1)
    rate = ids.shape[0] * (count - 1) / (seconds(count) - first)
    point.update(prefill_s=first, decode_tok_s=rate, timed=memory())


# Each reads "end" itself, while optimizer and inputs are alive.
def run_inference(model, case, result):
    model.eval()
    result["points"] = []
    vocab = min(1000, case["arch"].get("vocab_size", 1000))
    for batch, seq in case["points"]:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        ids = torch.randint(1, vocab, (batch, seq), device="cuda")
        with torch.no_grad():
            model.generate(
                ids, max_new_tokens=case.get("new_tokens", 1), do_sample=False, pad_token_id=0
            )
        point = {"b": batch, "s": seq, **memory()}
        result["points"].append(point)
        if case.get("time_tokens"):
            time_generation(model, ids, case, point)
        del ids
    result["end"] = memory()


def run_training(model, case, result):
    model.train()
    if case.get("ckpt") and not case.get("quant"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if case.get("lora"):
            model.enable_input_require_grads()
    optimizer = optimizer_of(case, model)
    forward = torch.compile(model) if case.get("compile") else model
    ids = measure.random_tokens(model.config, case["b"], case["s"])
    if case.get("compile"):
        train_step(forward, optimizer, ids, case)
    stages = {}
    for step in (1, 2):
        train_step(forward, optimizer, ids, case, stages=stages, tag=f"step{step}.")
    result["stages"] = stages
    steps = case.get("time_steps", 0)
    if steps:
        torch.cuda.synchronize()
        start = time.time()
        for _ in range(steps):
            train_step(forward, optimizer, ids, case)
        torch.cuda.synchronize()
        tokens = case.get("accum", 1) * case["b"] * case["s"] * steps
        result["tokens_per_s"] = tokens / (time.time() - start)
    result["end"] = memory()


def run(case):
    if case.get("pretrained") or case.get("quant"):
        save_elsewhere(case)
    torch.zeros(1, device="cuda")
    result = {"context": memory()}
    start = time.time()
    torch.cuda.reset_peak_memory_stats()
    model = build(case)
    result["params"] = sum(p.numel() for p in model.parameters())
    result["load"] = memory()
    if case.get("lora"):
        model = adapt(model, case)
        result["adapted"] = memory()
    result["trainable"] = sum(p.numel() for p in model.parameters() if p.requires_grad)
    result["load_seconds"] = round(time.time() - start, 2)
    if case["mode"] == "infer":
        run_inference(model, case, result)
    else:
        run_training(model, case, result)
    result["seconds"] = round(time.time() - start, 2)
    return result | ({"outliers": OUTLIERS} if OUTLIERS else {})


def environment():
    packages = ("bitsandbytes", "peft", "accelerate")
    there = [name for name in packages if find_spec(name)]
    return {**measure.environment(), **{name: metadata.version(name) for name in there}}


if __name__ == "__main__":
    measure.main(run, environment)
