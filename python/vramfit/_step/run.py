"""One run: the model, then its steps or what it generates."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import torch
import transformers

from vramfit._step.asked import Asked, tell
from vramfit._step.generation import generate
from vramfit._step.largest import Enough, largest
from vramfit._step.models import build, facts_of, positions_of
from vramfit._step.training import prepared, train

_STEPS = 50  # and no more, should each take more than the one before
_SEQ = 2048


def run(asked: Asked) -> torch.nn.Module:
    """Until the one who watches has seen enough; returns the model, which is to live until then.
    Raises StandInError where it cannot be run."""
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)  # OpenMP's threads do not survive the forks of a search
    try:
        return _run(asked)
    except torch.OutOfMemoryError:
        sys.exit(1)  # that it ran out, and where, is told by the one who watches


def _run(asked: Asked) -> torch.nn.Module:
    model = build(asked)
    asked = replace(asked, seq=asked.seq or _usual_length(model, asked))
    tell(asked, **facts_of(model), seq=asked.seq)
    if asked.trainer == "none" and asked.train:
        model = prepared(model, asked)

    def play(batch: int, enough: Enough) -> None:
        """As many steps as are enough."""
        this = replace(asked, batch=batch)
        if asked.trainer != "none":
            from vramfit._step.trainers import train_by_trainer

            train_by_trainer(model, this, _STEPS, enough)
        elif asked.train:
            train(model, this, _STEPS, enough)
        else:
            generate(model, this)

    batch = asked.batch
    if asked.max_batch:
        batch, tried = largest(play)
        tell(
            asked, max_batch=batch, tried=sorted((b, peak is not None) for b, peak in tried.items())
        )
    play(max(batch, 1), lambda: False)
    return model


def _usual_length(model: Any, asked: Asked) -> int:
    """fit's, or as many tokens as the model was made for."""
    room = positions_of(model) or _SEQ
    return max(1, min(_SEQ, room if asked.train else room - asked.generate))
