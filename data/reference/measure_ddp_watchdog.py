"""Measure whether DDP's first bucket lives through the second step's forward: a race with NCCL.

An entry a run: of four steps what is allocated after forward (`forward`), and by how many copies of
the parameters the second is above the third (`kept`). `pause`: seconds between steps, in which
NCCL's watchdog, which looks every 100 ms, has its time.

usage: measure_ddp_watchdog.py OUT.json
"""

import itertools
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM, LlamaConfig

MODELS = [(151936, True), (151936, False), (32000, False)]  # vocabulary, tied head


def measured(vocab: int, tied: bool, view: bool, pause: float) -> dict:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29500 + os.getpid() % 400))
    dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda", 0))
    config = LlamaConfig(
        hidden_size=1024,
        intermediate_size=3072,
        num_hidden_layers=28,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=64,
        vocab_size=vocab,
        max_position_embeddings=4096,
        tie_word_embeddings=tied,
        use_cache=False,
    )
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    size = sum(parameter.numel() for parameter in model.parameters()) * 2
    model = torch.nn.parallel.DistributedDataParallel(
        model, device_ids=[0], gradient_as_bucket_view=view
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    ids = torch.randint(0, 1000, (2, 512), device="cuda")
    forward = []
    for _ in range(4):
        loss = model(input_ids=ids, labels=ids).loss
        torch.cuda.synchronize()
        forward.append(torch.cuda.memory_allocated())
        loss.backward()
        del loss
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        time.sleep(pause)
    return {"forward": forward, "kept": round((forward[1] - forward[2]) / size)}


def _in_a_process(case: dict) -> dict:
    """Of its own, which ends at once: NCCL's threads are not waited for."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.write(writing, json.dumps(measured(**case)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        return case | json.loads(said.read())


def main() -> None:
    rows = []
    for _, (vocab, tied), view, pause in itertools.product(
        range(2), MODELS, (True, False), (0, 0.5)
    ):
        row = _in_a_process({"vocab": vocab, "tied": tied, "view": view, "pause": pause})
        rows.append(json.dumps(row))
        Path(sys.argv[1]).write_text("[\n  " + ",\n  ".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
