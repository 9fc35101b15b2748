"""What DDP, ZeRO-1 and FSDP2 take of each GPU of this host, level by level; written down of the
first.

    measure_pytorch_multi_gpu.py OUT.jsonl SECONDS

A case is model, strategy, GPUs, precision, batch and tokens of each GPU, and checkpointing;
"mixed" is fp32 parameters, bf16 compute, fp32 reduction. Each runs in processes of its own."""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

CASES = [
    ("llama2-7b", "ddp", 2, "bf16", 1, 2048, False),
    ("llama2-7b", "ddp-view", 2, "bf16", 1, 2048, False),
    ("tinyllama-1.1b", "ddp", 2, "bf16", 4, 1024, False),
    ("tinyllama-1.1b", "zero1", 2, "bf16", 4, 1024, False),
    ("llama2-7b", "fsdp", 2, "bf16", 1, 2048, False),
    ("llama2-7b", "fsdp", 2, "mixed", 2, 2048, True),
    ("llama2-7b", "fsdp-keep", 2, "bf16", 1, 2048, False),
    ("tinyllama-1.1b", "fsdp", 2, "mixed", 4, 1024, False),
    ("llama2-13b", "fsdp", 2, "bf16", 1, 2048, True),
]


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


class Stages:
    def __init__(self):
        self.readings = {}

    def read(self, name: str) -> None:
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        self.readings[name] = {
            "alloc": torch.cuda.memory_allocated(),
            "peak": torch.cuda.max_memory_allocated(),
            "reserved": torch.cuda.memory_reserved(),
            "peak_reserved": torch.cuda.max_memory_reserved(),
            "device_used": total - free,
        }
        torch.cuda.reset_peak_memory_stats()


def built(name: str, strategy: str, precision: str, checkpointing: bool):
    arch = dict(ARCHITECTURES[name])
    config = CONFIG_MAPPING[arch.pop("model_type")](**arch)
    config.use_cache = False
    with torch.device("meta" if strategy.startswith("fsdp") else "cuda"):
        model = AutoModelForCausalLM.from_config(
            config,
            dtype=torch.float32 if precision == "mixed" else torch.bfloat16,
            attn_implementation="sdpa",
        )
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def fully_sharded(model, strategy: str, precision: str):
    options = {}
    if precision == "mixed":
        options["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32
        )
    if strategy == "fsdp-keep":
        options["reshard_after_forward"] = False
    for layer in model.model.layers:
        fully_shard(layer, **options)
    fully_shard(model, **options)
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
    return torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)


def train(model, optimizer, ids, stages: Stages) -> float:
    """Two steps, read stage by stage, and four more; seconds of one of these."""
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
    torch.cuda.synchronize()
    dist.barrier()
    begin = time.time()
    for _ in range(4):
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    dist.barrier()
    seconds = (time.time() - begin) / 4
    stages.read("after_six")
    return seconds


def measured(rank: int, case: tuple) -> dict:
    name, strategy, gpus, precision, batch, seq, checkpointing = case
    stages = Stages()
    torch.zeros(1, device="cuda")
    stages.read("context")
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", rank=rank, world_size=gpus, device_id=device)
    stages.read("process_group")
    model = built(name, strategy, precision, checkpointing)
    if strategy.startswith("fsdp"):
        model = fully_sharded(model, strategy, precision)
    else:
        view = strategy == "ddp-view"
        model = DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=view)
    model.train()
    optimizer = optimizer_of(model, strategy)
    ids = torch.randint(0, 1000, (batch, seq), device="cuda")
    stages.read("load")
    seconds = train(model, optimizer, ids, stages)
    return {
        "stages": stages.readings,
        "peak": max(reading["peak"] for reading in stages.readings.values()),
        "tokens_per_s": gpus * batch * seq / seconds,
    }


def worker(rank: int, case: tuple, out: str, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    try:
        result = measured(rank, case)
    except torch.OutOfMemoryError as error:
        result = {"oom": str(error)[:200]}
    if rank == 0:
        keys = ("model", "strategy", "gpus", "precision", "b", "s", "ckpt")
        setting = dict(zip(keys, case, strict=True))
        setting |= {"arch": ARCHITECTURES[setting["model"]], "opt": "adamw_fused"}
        with Path(out).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"case": setting, "result": result}) + "\n")
    os._exit(0)  # the other ranks may wait for ever


def main() -> None:
    out, limit = sys.argv[1], float(sys.argv[2])
    begin = time.time()
    for index, case in enumerate(CASES):
        if time.time() - begin > limit:
            print("stopped at", index)
            return
        mp.spawn(worker, (case, out, 29500 + index), nprocs=case[2])


if __name__ == "__main__":
    main()
