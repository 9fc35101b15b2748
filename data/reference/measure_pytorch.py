"""Measure the GPU memory that PyTorch and Hugging Face transformers use, case by case.

Each case runs in a forked child (imports done once, CUDA context fresh), so figures do not leak
between cases. Sizes in the output are bytes.

usage: measure_pytorch.py CASES.json OUT.jsonl [seconds]
"""

import gc
import json
import os
import sys
import time
import traceback
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def memory():
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return {
        "alloc": torch.cuda.memory_allocated(),
        "peak": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.memory_reserved(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
        "device_used": total - free,
    }


class Stages:
    """Readings by name, each with the peak since the one before."""

    def __init__(self):
        self.readings = {}

    def read(self, name):
        self.readings[name] = memory()
        torch.cuda.reset_peak_memory_stats()


def build(case):
    arch = dict(case["arch"])
    config = CONFIG_MAPPING[arch.pop("model_type")](**arch)
    config.use_cache = case["mode"] == "infer"
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(
            config, dtype=DTYPES[case["dtype"]], attn_implementation=case.get("attn", "sdpa")
        )
    if case.get("lora"):
        # Only these cases need peft installed.
        from peft import LoraConfig, get_peft_model  # noqa: PLC0415

        lora = LoraConfig(
            r=case["lora"]["r"],
            lora_alpha=16,
            target_modules=case["lora"]["targets"],
            task_type="CAUSAL_LM",
        )
        model = get_peft_model(model, lora).cuda()
    return model, config


def optimizer_for(case, params):
    name = case.get("opt", "adamw")
    if name == "adamw":
        return torch.optim.AdamW(params, lr=1e-5)
    if name == "adamw_fused":
        return torch.optim.AdamW(params, lr=1e-5, fused=True)
    if name == "adamw_loop":
        return torch.optim.AdamW(params, lr=1e-5, foreach=False)
    if name == "sgd":
        return torch.optim.SGD(params, lr=1e-5)
    if name == "sgdm":
        return torch.optim.SGD(params, lr=1e-5, momentum=0.9)
    if name == "adafactor":
        return torch.optim.Adafactor(params, lr=1e-5)
    raise ValueError(name)


def random_tokens(config, batch, seq):
    return torch.randint(0, min(1000, config.vocab_size), (batch, seq), device="cuda")


def train_step(model, optimizer, ids, case, *, stages=None, tag=""):
    """One step; with `stages`, a reading after each stage, each with a peak of its own."""

    def record(name):
        if stages is not None:
            stages[tag + name] = memory()
            torch.cuda.reset_peak_memory_stats()

    if stages is not None:
        torch.cuda.reset_peak_memory_stats()
    if case.get("amp"):
        with torch.autocast("cuda", dtype=DTYPES[case["amp"]]):
            out = model(ids, labels=ids)
    else:
        out = model(ids, labels=ids)
    loss = out.loss
    record("forward")
    loss.backward()
    del out, loss
    record("backward")
    optimizer.step()
    record("optimizer")
    optimizer.zero_grad(set_to_none=True)
    record("zero_grad")


def prepare_training(model, case):
    model.train()
    if case.get("ckpt"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if case.get("lora"):
            model.enable_input_require_grads()
    return optimizer_for(case, [p for p in model.parameters() if p.requires_grad])


def run_inference(model, config, case, result):
    model.eval()
    result["points"] = []
    for batch, seq in case["points"]:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        ids = random_tokens(config, batch, seq)
        new_tokens = case.get("new_tokens", 1)
        with torch.no_grad():
            if new_tokens:
                model.generate(ids, max_new_tokens=new_tokens, do_sample=False, pad_token_id=0)
            else:
                out = model(ids, use_cache=True)
                del out
        result["points"].append({"b": batch, "s": seq, **memory()})
        del ids
    result["end"] = memory()


def run_training(model, config, case, result):
    optimizer = prepare_training(model, case)
    batch, seq = case["b"], case["s"]
    ids = random_tokens(config, batch, seq)
    stages = {}
    train_step(model, optimizer, ids, case, stages=stages, tag="step1.")
    train_step(model, optimizer, ids, case, stages=stages, tag="step2.")
    result["stages"] = stages
    steps = case.get("time_steps", 0)
    if steps:
        torch.cuda.synchronize()
        start = time.time()
        for _ in range(steps):
            train_step(model, optimizer, ids, case)
        torch.cuda.synchronize()
        result["s_per_step"] = (time.time() - start) / steps
        result["tokens_per_s"] = batch * seq / result["s_per_step"]
    result["end"] = memory()


def run_max_batch(model, config, case, result):
    """The largest batch that completes two steps: doubled until it fails, then bisected."""
    optimizer = prepare_training(model, case)

    def fits(batch):
        done = True
        try:
            ids = random_tokens(config, batch, case["s"])
            train_step(model, optimizer, ids, case)
            train_step(model, optimizer, ids, case)
        except torch.OutOfMemoryError:
            done = False
        optimizer.zero_grad(set_to_none=True)
        ids = None
        gc.collect()
        torch.cuda.empty_cache()
        return done

    low, high, trials = 0, 1, []
    while high <= 512:
        trials.append([high, fits(high)])
        if not trials[-1][1]:
            break
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        trials.append([middle, fits(middle)])
        if trials[-1][1]:
            low = middle
        else:
            high = middle
    result["max_batch"], result["trials"] = low, trials
    result["end"] = memory()


# Each adds its readings to `result` and reads "end" itself, while optimizer and inputs are alive.
MODES = {"infer": run_inference, "train": run_training, "maxbatch": run_max_batch}


def run(case):
    torch.zeros(1, device="cuda")
    result = {"context": memory()}
    if case.get("cap_mib"):
        total = torch.cuda.mem_get_info()[1]
        torch.cuda.set_per_process_memory_fraction(min(1.0, case["cap_mib"] * 2**20 / total))
    start = time.time()
    model, config = build(case)
    result["params"] = sum(p.numel() for p in model.parameters())
    result["trainable"] = sum(p.numel() for p in model.parameters() if p.requires_grad)
    result["load"] = memory()
    MODES[case["mode"]](model, config, case, result)
    result["seconds"] = round(time.time() - start, 2)
    return result


def append(path, row):
    with Path(path).open("a") as f:
        f.write(json.dumps(row) + "\n")


def child(case, path, run):
    try:
        result = run(case)
    except torch.OutOfMemoryError as e:
        result = {"oom": str(e)[:300]}
    except Exception as e:
        result = {"error": repr(e)[:500], "trace": traceback.format_exc()[-1200:]}
    append(path, {"case": case, "result": result})
    os._exit(0)


def environment():
    query = "nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader"
    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "cuda": torch.version.cuda,
        "smi": os.popen(query).read().partition("\n")[0],
    }


def main(run=run, environment=environment):
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 540
    every(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2], limit, run, environment)


def every(cases, out, limit, run, environment):
    """Each case by `run`, beneath a line of what it was measured with, until `limit` seconds are
    over."""
    start = time.time()
    append(out, {"env": environment()})
    for i, case in enumerate(cases):
        if time.time() - start > limit:
            print("stopped at case", i, "of", len(cases))
            break
        pid = os.fork()
        if pid == 0:
            child(case, out, run)
        deadline = time.time() + case.get("timeout", 90)
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                if status:
                    died = f"died with status {os.waitstatus_to_exitcode(status)}"
                    append(out, {"case": case, "result": {"error": died}})
                break
            if time.time() > deadline:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
                append(out, {"case": case, "result": {"timeout": True}})
                break
            time.sleep(0.05)
    print("done", round(time.time() - start, 1), "s")


if __name__ == "__main__":
    main()
