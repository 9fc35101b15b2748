"""One run: the model, then its steps or what it generates."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import torch
import transformers

from vramfit._step.adapters import check_trains
from vramfit._step.asked import Asked, tell
from vramfit._step.generation import generate
from vramfit._step.largest import largest, leave_to
from vramfit._step.models import build, facts_of, positions_of, refusal_of
from vramfit._step.training import prepared, train

_STEPS = 50  # and no more, should each take more than the one before
_SEQ = 2048


def run(asked: Asked) -> torch.nn.Module:
    """Until the one who watches has seen enough; returns the model, which is to live until then.
    Raises StandInError where it cannot be run."""
    torch.set_num_threads(1)  # OpenMP's threads do not survive the forks of a search
    try:
        return steps_of(asked, _STEPS)
    except torch.OutOfMemoryError:
        sys.exit(1)  # that it ran out, and where, is told by the one who watches


def steps_of(asked: Asked, steps: int) -> torch.nn.Module:
    """So many, and no more; returns the model."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if asked.trainer != "none":
        from vramfit._step.trainers import train_by_trainer  # before processes are forked
    model = build(asked)
    asked = replace(asked, seq=asked.seq or _usual_length(model, asked))
    tell(asked, **facts_of(model), seq=asked.seq)
    if asked.train:
        check_trains(model, asked)
    if asked.trainer == "none" and asked.train:
        model = prepared(model, asked)

    def play(batch: int) -> None:
        """As many steps as there may be."""
        this = replace(asked, batch=batch)
        try:
            if asked.trainer != "none":
                train_by_trainer(model, this, steps)
            elif asked.train:
                train(model, this, steps)
            else:
                generate(model, this)
        except ModuleNotFoundError:
            raise
        except ImportError as error:  # of a package that its weights' method multiplies by
            raise refusal_of(error) from error

    if not asked.max_batch:
        play(asked.batch)
        return model
    batch, tried = largest(play)
    completes = sorted((batch, each.completes) for batch, each in tried.items())
    tell(asked, max_batch=batch, tried=completes)
    return leave_to(max(batch, 1), tried)


def _usual_length(model: Any, asked: Asked) -> int:
    """fit's, or as many tokens as the model was made for."""
    room = positions_of(model) or _SEQ
    return max(1, min(_SEQ, room if asked.train else room - asked.generate))
