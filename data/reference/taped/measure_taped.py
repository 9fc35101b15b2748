"""measure_pytorch.py's cases with prompts as `vramfit` takes them to be: of several, the last one
begins with a pad token, and no other holds one.

usage: measure_taped.py CASES.json OUT.jsonl [SECONDS]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import measure_pytorch
import torch


def prompts(config, batch, seq):
    ids = torch.randint(1, min(1000, config.vocab_size), (batch, seq), device="cuda")
    if batch > 1:
        ids[-1, 0] = 0
    return ids


if __name__ == "__main__":
    measure_pytorch.random_tokens = prompts
    measure_pytorch.main()
