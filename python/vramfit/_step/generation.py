"""What generate() takes of a prompt: as data/reference/measure_pytorch.py measures it."""

from __future__ import annotations

import gc
from typing import Any

import torch

from vramfit._step.asked import Asked
from vramfit._step.models import vocabulary
from vramfit._step.training import WORDS

_PADDING = 0


def generate(model: Any, asked: Asked) -> None:
    model.eval()
    gc.collect()
    torch.cuda.empty_cache()
    if asked.measured:  # weights were made up: what that took is nothing that is asked
        torch.cuda.reset_peak_memory_stats()
    options: dict[str, Any] = {}
    if asked.cache_implementation not in (None, "dynamic"):
        options["cache_implementation"] = asked.cache_implementation
    padding = _padding(model, asked)
    ids = _prompts(model, asked, padding)
    for _ in range(2 if asked.again else 1):
        with torch.no_grad():
            model.generate(
                ids,
                max_new_tokens=asked.generate,
                do_sample=False,
                pad_token_id=padding,
                **options,
            )


def _padding(model: Any, asked: Asked) -> int:
    """generate() hides nothing of prompts that are padded with a token that ends a text."""
    if not asked.padded:
        return _PADDING
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    return next(token for token in range(len(ends) + 1) if token not in ends)


def _prompts(model: Any, asked: Asked, padding: int) -> torch.Tensor:
    """Those of a batch differ in length, unless it is said that they do not."""
    words = min(WORDS, vocabulary(model))
    ids = torch.randint(1, words, (asked.batch, asked.seq), device=model.device)
    padded = asked.batch > 1 if asked.padded is None else asked.padded
    if padded:
        ids[-1, 0] = padding
    return ids
