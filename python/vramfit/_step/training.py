"""Training steps in a plain loop: those that data/reference/measure_pytorch.py measures."""

from __future__ import annotations

from typing import Any

import torch

from vramfit._step.adapters import adapted, checkpointing, checkpoints, is_of_bitsandbytes
from vramfit._step.asked import Asked
from vramfit._step.models import DTYPES, quantised_by, vocabulary
from vramfit._step.optimizers import optimizer_of

WORDS = 1000  # that inputs are made of


def prepared(model: Any, asked: Asked) -> Any:
    """What is trained of it."""
    is_prepared = bool(asked.lora) and is_of_bitsandbytes(model)
    is_quantised = quantised_by(model) is not None
    if asked.lora:
        model = adapted(model, asked)
        model = model if is_quantised else model.cuda()
    model.train()
    if checkpoints(asked) and not is_prepared:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=checkpointing(asked))
        if asked.lora:
            model.enable_input_require_grads()
    return model


def train(model: Any, asked: Asked, steps: int) -> None:
    optimizer = optimizer_of(model, asked.optimizer)
    forward = torch.compile(model) if asked.compile else model
    words = min(WORDS, vocabulary(model))
    ids = torch.randint(0, words, (asked.batch, asked.seq), device=model.device)
    for _ in range(steps):
        _step(forward, optimizer, ids, asked)


def _step(forward: Any, optimizer: Any, ids: torch.Tensor, asked: Asked) -> None:
    for _ in range(asked.accumulate):
        dtype = DTYPES[asked.autocast] if asked.autocast else None
        with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
            out = forward(ids, labels=ids)
        loss = out.loss if asked.accumulate == 1 else out.loss / asked.accumulate
        if asked.loss_only:
            del out
            loss.backward()
        else:
            loss.backward()
            del out
        del loss
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
