"""Measure what one rank of FSDP2 or DDP takes, with one GPU: PyTorch's own code over its process
group `fake`, of any number of ranks.

A case is one of measure_pytorch_multi_gpu.py, whose stages it has, with `lora` (the rank of
adapters on every projection, or on `targets`; 0: none) and for QLoRA `quant` and `storage`
(bnb_4bit_quant_storage): read by from_pretrained onto the GPU, and sharded where it lies. FSDP2
takes over `fake` what it takes over NCCL, to the byte, but for NCCL's own share. DDP's reducer
wants a result that `fake` has none of, and takes the same with any number of ranks: it runs over
NCCL, with one.

usage: measure_pytorch_ranks.py CASES.json OUT.jsonl [seconds]
"""

import measure_pytorch as measure
import measure_pytorch_more as more
import torch
import torch.distributed as dist
from measure_pytorch import Stages
from measure_pytorch_multi_gpu import (
    built,
    fully_sharded,
    optimizer_of,
    read_two_steps,
    sharded,
)
from torch.nn.parallel import DistributedDataParallel

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
MORE_STEPS = 4


def join_group(case):
    if case["strategy"].startswith("ddp"):
        store, device = dist.HashStore(), torch.device("cuda", 0)
        dist.init_process_group("nccl", rank=0, world_size=1, store=store, device_id=device)
        return
    from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: PLC0415

    dist.init_process_group("fake", rank=0, world_size=case["gpus"], store=FakeStore())


def adapted(model, case):
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415

    lora = LoraConfig(
        r=case["lora"],
        lora_alpha=16,
        target_modules=case.get("targets", TARGETS),
        task_type="CAUSAL_LM",
    )
    with model.device:
        return get_peft_model(
            model,
            lora,
            low_cpu_mem_usage=model.device.type == "meta",
            autocast_adapter_dtype=False,
        )


def of_more(case):
    """A case of measure_pytorch_more.py, which reads models from files."""
    lora = {"r": case["lora"], "targets": case.get("targets", TARGETS)}
    return {**case, "dtype": "bf16", "mode": "train", "lora": lora}


def quantized(case):
    model = more.build(of_more(case))
    layers = model.model.layers
    return sharded(more.adapt(model, of_more(case)), layers, case)


def spread(model, case):
    layers = model.model.layers
    if case.get("lora"):
        model = adapted(model, case)
    if case["strategy"].startswith("fsdp"):
        return fully_sharded(model, layers, case)
    view = case["strategy"] == "ddp-view"
    return DistributedDataParallel(model, device_ids=[0], gradient_as_bucket_view=view)


def run(case):
    if case.get("quant"):
        more.save_elsewhere(of_more(case))
    torch.cuda.set_device(0)
    stages = Stages()
    torch.zeros(1, device="cuda")
    stages.read("context")
    join_group(case)
    stages.read("process_group")
    model = quantized(case) if case.get("quant") else spread(built(case), case)
    model.train()
    optimizer = optimizer_of(model, case["strategy"])
    ids = torch.randint(0, 1000, (case["b"], case["s"]), device="cuda")
    stages.read("load")
    read_two_steps(model, optimizer, ids, stages)
    for _ in range(MORE_STEPS):
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    stages.read("after_six")
    return {
        "stages": stages.readings,
        "peak": max(reading["peak"] for reading in stages.readings.values()),
    }


def environment():
    group = "fake: real reducer and FSDP2, no NCCL"
    return {**measure.environment(), "process_group": group}


if __name__ == "__main__":
    measure.main(run, environment)
