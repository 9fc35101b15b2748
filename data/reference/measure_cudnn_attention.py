"""Record what cuDNN's attention works in beside inputs and outputs, as PyTorch's allocator sees it.

A line a shape: `forward` and `backward` are the bytes of the workspace, 0 where there is none;
`backward` is absent where none was run.

usage: measure_cudnn_attention.py OUT.jsonl
"""

import itertools
import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as nn_functional
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = [
    *((1, 16, 2, 1, keys, 128) for keys in (2, 9, 513)),
    *((4, 16, 2, 1, 1025, 128), (4, 4, 1, 1, 1025, 256), (4, 4, 1, 1, 1025, 64)),
    *((4, 32, 8, 1, 300, 128), (8, 32, 8, 1, 4096, 128), (32, 32, 32, 1, 4096, 128)),
    *((64, 32, 32, 1, 8192, 128), (1, 8, 8, 1, 20000, 64)),
    *((2, 16, 16, queries, 600, 64) for queries in (2, 16, 64, 127, 128, 600)),
    *((1, 16, 16, 600, 600, 96), (2, 16, 4, 512, 512, 128), (1, 4, 1, 300, 300, 256)),
    *((2, 9, 3, 129, 129, 64), (4, 16, 16, 1024, 1024, 128), (1, 32, 8, 4096, 4096, 128)),
    (3, 7, 7, 33, 1000, 80),
]  # batch, query heads, heads of keys, queries, keys, head_dim
KEYS = [
    *(2, 64, 127, 128, 129, 200, 255, 256, 257, 300, 320, 383, 384, 385, 400, 448, 511, 512, 513),
    *(600, 640, 700, 768, 900, 1008, 1016, 1017, 1020, 1023, 1024, 1025, 1280, 1500, 2047, 2048),
    *(2049, 3000, 4096, 8000, 16384, 20000, 65536),
]
BATCHES = [
    *(1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 33, 40, 44, 48, 64, 65, 66, 67, 88, 100, 128),
    *(131, 132, 133, 200, 263, 264, 265, 300),
]
HEADS = [
    *((3, 8, 8), (3, 8, 4), (3, 8, 2), (3, 8, 1), (2, 32, 4), (2, 40, 8), (2, 64, 8), (2, 96, 8)),
    *(
        (2, 128, 8),
        (2, 28, 4),
        (2, 12, 2),
        (2, 14, 2),
        (1, 71, 1),
        (4, 9, 3),
        (4, 17, 1),
        (8, 32, 2),
    ),
    *((3, 33, 1), (2, 40, 1)),
]  # batch, query heads, heads of keys
LONG = (300, 1000, 5000, 40000)


def allocated(run):
    """What `run` allocates, in order, and what it gives. Bytes."""
    torch.cuda.memory._record_memory_history(max_entries=1000, context=None, stacks="python")
    result = run()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    return [event["size"] for event in events if event["action"] == "alloc"], result


def workspaces(shape, *, causal, trained):
    batch, heads, kv_heads, queries, keys, head_dim = shape

    def tensor(count, rows):
        made = torch.empty(batch, rows, count, head_dim, device="cuda", dtype=torch.bfloat16)
        return made.transpose(1, 2).requires_grad_(trained)

    inputs = tensor(heads, queries), tensor(kv_heads, keys), tensor(kv_heads, keys)
    forward, output = allocated(
        lambda: nn_functional.scaled_dot_product_attention(
            *inputs, is_causal=causal, enable_gqa=heads != kv_heads
        )
    )
    # A seed, an offset, the output, and where it is trained the rows' statistics.
    rest = forward[forward.index(8) + (4 if trained else 3) :]
    line = {"forward": rest[0] if rest else 0}
    if trained:
        gradient = torch.empty_like(output)
        backward, _ = allocated(lambda: torch.autograd.grad(output, inputs, gradient))
        line["backward"] = backward[3]
    return line


def cases():
    for shape, causal, trained in itertools.product(SHAPES, (False, True), (False, True)):
        if not causal or shape[3] == shape[4]:
            yield shape, causal, trained
    decoded = [
        *((*h, keys, d) for keys in KEYS for *h, d in ((1, 1, 1, 64), (1, 16, 2, 128))),
        *((batch, 1, 1, keys, 64) for batch in BATCHES for keys in LONG),
        *((*heads, keys, 64) for heads in HEADS for keys in LONG),
        *((2, 8, 8, keys, d) for d in (32, 80, 96, 112, 128, 192, 256) for keys in LONG),
    ]
    for batch, heads, kv_heads, keys, head_dim in decoded:
        yield (batch, heads, kv_heads, 1, keys, head_dim), False, False


def main():
    names = ("batch", "heads", "kv_heads", "queries", "keys", "head_dim")
    torch.zeros(1, device="cuda")
    with Path(sys.argv[1]).open("a") as out, sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        # The first takes PyTorch through choices of its own.
        workspaces((1, 1, 1, 2, 2, 64), causal=False, trained=False)
        for shape, causal, trained in cases():
            line = workspaces(shape, causal=causal, trained=trained)
            out.write(json.dumps({**dict(zip(names, shape, strict=True)), **line}) + "\n")


if __name__ == "__main__":
    main()
