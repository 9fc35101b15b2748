"""What DDP, ZeRO-1 and FSDP2 take of each GPU of this host, level by level, and tokens a second;
memory is the first GPU's.

    measure_pytorch_multi_gpu.py OUT.jsonl [--gpus 2] [--seconds 540] [--only PART]...

`--only` chooses by a case's name, `llama2-7b/bf16/fsdp/batch:1/seq:2048`; batch and tokens are of
each GPU. Run again with the same OUT.jsonl it measures what is not there yet. A case runs in a
process for each GPU. Where one of them fails or the time is over, the others are ended, and why is
written down in place of readings. Figures to set beside those of bench's rows `MultiGpu` are to be
of the same machine."""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import measure_pytorch as measure
import torch
import torch.distributed as dist
from measure_pytorch import Stages
from ranks import TIMED_OUT, of_all_ranks
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

TIMED_STEPS = 8


def llama(hidden: int, ffn: int, layers: int, heads: int, kv_heads: int) -> dict:
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": ffn,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": 32000,
        "max_position_embeddings": 32768,
    }


ARCHITECTURES = {
    "llama2-7b": llama(4096, 11008, 32, 32, 32),
    "llama2-13b": llama(5120, 13824, 40, 40, 40),
    "tinyllama-1.1b": llama(2048, 5632, 22, 32, 4),
}

# Model, strategy, precision, batch, tokens, checkpointing; what the report shows comes first.
# "mixed" is fp32 parameters, bf16 compute, fp32 reduction. `ddp-view` has gradients in its buckets,
# `fsdp-keep` parameters gathered until backward.
CASES = (
    ("llama2-7b", "ddp", "bf16", 1, 2048, False),
    ("llama2-7b", "ddp", "bf16", 4, 2048, False),
    ("llama2-7b", "fsdp", "bf16", 1, 2048, False),
    ("llama2-7b", "fsdp", "bf16", 4, 2048, False),
    ("llama2-13b", "fsdp", "bf16", 1, 2048, False),
    ("llama2-7b", "zero1", "bf16", 1, 2048, False),
    ("llama2-7b", "zero1", "bf16", 4, 2048, False),
    ("llama2-13b", "fsdp", "bf16", 4, 2048, False),
    ("llama2-13b", "zero1", "bf16", 1, 2048, False),
    ("llama2-13b", "ddp", "bf16", 1, 2048, False),
    ("llama2-13b", "fsdp", "mixed", 1, 2048, False),
    ("llama2-7b", "ddp-view", "bf16", 1, 2048, False),
    ("llama2-7b", "fsdp-keep", "bf16", 1, 2048, False),
    ("llama2-7b", "fsdp", "mixed", 2, 2048, True),
    ("llama2-13b", "fsdp", "bf16", 1, 2048, True),
    ("tinyllama-1.1b", "ddp", "bf16", 4, 1024, False),
    ("tinyllama-1.1b", "zero1", "bf16", 4, 1024, False),
    ("tinyllama-1.1b", "fsdp", "mixed", 4, 1024, False),
)


def case_of(entry: tuple, gpus: int) -> dict:
    """As it is written down."""
    keys = ("model", "strategy", "precision", "b", "s", "ckpt")
    setting = dict(zip(keys, entry, strict=True))
    return {**setting, "gpus": gpus, "arch": ARCHITECTURES[setting["model"]], "opt": "adamw_fused"}


def name_of(case: dict) -> str:
    ckpt = "/checkpoint:full" if case["ckpt"] else ""
    parts = (case["model"], case["precision"], case["strategy"])
    return f"{'/'.join(parts)}/batch:{case['b']}/seq:{case['s']}{ckpt}"


def built(case: dict):
    arch = dict(case["arch"])
    config = CONFIG_MAPPING[arch.pop("model_type")](**arch)
    config.use_cache = False
    with torch.device("meta" if case["strategy"].startswith("fsdp") else "cuda"):
        model = AutoModelForCausalLM.from_config(
            config,
            dtype=torch.float32 if case["precision"] == "mixed" else torch.bfloat16,
            attn_implementation="sdpa",
        )
    if case["ckpt"]:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def sharded(model, layers, case: dict):
    """By fully_shard, where it is."""
    options = {}
    if case["precision"] == "mixed":
        options["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32
        )
    if case["strategy"] == "fsdp-keep":
        options["reshard_after_forward"] = False
    for layer in layers:
        fully_shard(layer, **options)
    fully_shard(model, **options)
    return model


def fully_sharded(model, layers, case: dict):
    """What was made on the meta device, with shards of its own."""
    sharded(model, layers, case)
    model.to_empty(device="cuda")
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    for module in model.modules():
        if hasattr(module, "inv_freq"):
            dims = module.inv_freq.numel() * 2
            steps = torch.arange(0, dims, 2, device="cuda").float() / dims
            module.inv_freq = 1.0 / (10000**steps)
    return model


def optimizer_of(model, strategy: str):
    if strategy == "zero1":
        return ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-5, fused=True
        )
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return torch.optim.AdamW(parameters, lr=1e-5, fused=True)


def read_two_steps(model, optimizer, ids, stages: Stages) -> None:
    for step in (1, 2):
        loss = model(input_ids=ids, labels=ids).loss
        stages.read(f"step{step}.forward")
        loss.backward()
        del loss
        stages.read(f"step{step}.backward")
        optimizer.step()
        stages.read(f"step{step}.optimizer")
        optimizer.zero_grad(set_to_none=True)
        stages.read(f"step{step}.zero_grad")


def timed_step(model, optimizer, ids, stages: Stages) -> float:
    """Seconds."""
    torch.cuda.synchronize()
    dist.barrier()
    begin = time.monotonic()
    for _ in range(TIMED_STEPS):
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    dist.barrier()
    seconds = (time.monotonic() - begin) / TIMED_STEPS
    stages.read("timed")
    return seconds


def measured(rank: int, case: dict) -> dict:
    stages = Stages()
    torch.zeros(1, device="cuda")
    stages.read("context")
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", rank=rank, world_size=case["gpus"], device_id=device)
    stages.read("process_group")
    model = built(case)
    params = sum(parameter.numel() for parameter in model.parameters())
    if case["strategy"].startswith("fsdp"):
        model = fully_sharded(model, model.model.layers, case)
    else:
        view = case["strategy"] == "ddp-view"
        model = DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=view)
    model.train()
    optimizer = optimizer_of(model, case["strategy"])
    ids = torch.randint(0, 1000, (case["b"], case["s"]), device="cuda")
    stages.read("load")
    read_two_steps(model, optimizer, ids, stages)
    seconds = timed_step(model, optimizer, ids, stages)
    return {
        "stages": stages.readings,
        "peak": max(reading["peak"] for reading in stages.readings.values()),
        "tokens_per_s": case["gpus"] * case["b"] * case["s"] / seconds,
        "params": params,
    }


def of_rank(rank: int, case: dict) -> dict:
    try:
        torch.cuda.set_device(rank)
        return measured(rank, case)
    except torch.OutOfMemoryError as error:
        return {"oom": f"GPU {rank}: {error}"[:300]}
    except Exception as error:
        return {"error": f"GPU {rank}: {error!r}"[:500]}


def environment() -> dict:
    """NCCL's variables among it: they change what it takes."""
    variables = {name: os.environ[name] for name in sorted(os.environ) if name.startswith("NCCL_")}
    nccl = ".".join(map(str, torch.cuda.nccl.version()))
    return {**measure.environment(), "nccl": nccl, "nccl_variables": variables}


def known(out: Path) -> list[dict]:
    """Cases that are written down; the first line says with what all are measured."""
    if not out.exists() or not out.read_text(encoding="utf-8"):
        measure.append(out, {"env": environment()})
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    said = next((line["env"] for line in lines if "env" in line), {})
    here = environment()
    for key in ("torch", "transformers", "smi"):
        if said.get(key) != here[key]:
            sys.exit(f"{out}: was measured with {said.get(key)}, and this is {here[key]}")
    return [line["case"] for line in lines if "case" in line]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=540, help="for all cases (%(default)s)")
    parser.add_argument("--case-seconds", type=float, default=120, help="for each (%(default)s)")
    parser.add_argument("--only", action="append", default=[], help="cases with this in their name")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    every = [case_of(entry, given.gpus) for entry in CASES]
    chosen = [c for c in every if not given.only or any(part in name_of(c) for part in given.only)]
    done = known(given.out)
    begin = time.monotonic()
    for case in [case for case in chosen if case not in done]:
        left = given.seconds - (time.monotonic() - begin)
        if left <= 0:
            print(f"{name_of(case)}: not begun: {given.seconds:.0f} s are over", flush=True)
            continue
        at = time.monotonic()
        result = of_all_ranks(of_rank, case, case["gpus"], min(left, given.case_seconds))
        if result == TIMED_OUT and left < given.case_seconds:
            print(f"{name_of(case)}: not done: {given.seconds:.0f} s are over", flush=True)
            continue  # so that it is measured next time
        measure.append(given.out, {"case": case, "result": result})
        said = f"{result['tokens_per_s']:,.0f} tokens/s" if "stages" in result else str(result)
        print(f"{name_of(case)}: {said} ({time.monotonic() - at:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
