"""Will it fit? How much GPU memory training or inference of a model needs, before it runs.

    >>> import vramfit
    >>> answer = vramfit.estimate(model="llama2-7b", train=True, batch=4, seq=512, gpu="rtx4090")
    >>> answer.fits, answer.verdict
    (False, 'OOM')

Keywords are the flags of the command `vramfit`, those of transformers and PEFT among them. All
sizes are integers in bytes. Bad input raises `BadInput`, a ValueError whose one line names what is
wrong and what would be right.
"""

from __future__ import annotations

from importlib import import_module

from vramfit._answer import Advice, Answer
from vramfit._card import CardAnswer, DeviceParts, Largest, Levels, Peak, Stage, Uncertainty
from vramfit._core import BadInput
from vramfit._questions import advise, estimate, largest, max_batch, max_seq

TYPE_CHECKING = False  # typing itself takes long to import
if TYPE_CHECKING:
    from typing import Any

    from vramfit._catalogue import Card, cards, models
    from vramfit._sweep import sweep
    from vramfit._verify import Verification, verify
    from vramfit._watch import watch

__all__ = [
    "Advice",
    "Answer",
    "BadInput",
    "Card",
    "CardAnswer",
    "DeviceParts",
    "Largest",
    "Levels",
    "Peak",
    "Stage",
    "Uncertainty",
    "Verification",
    "advise",
    "cards",
    "estimate",
    "largest",
    "max_batch",
    "max_seq",
    "models",
    "sweep",
    "verify",
    "watch",
]

# Read when they are first used, so that importing stays cheap.
_LATER = {
    "Card": "vramfit._catalogue",
    "cards": "vramfit._catalogue",
    "models": "vramfit._catalogue",
    "sweep": "vramfit._sweep",
    "verify": "vramfit._verify",
    "Verification": "vramfit._verify",
    "watch": "vramfit._watch",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("vramfit")
    if name not in _LATER:
        raise AttributeError(f"module 'vramfit' has no attribute '{name}'")
    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    """What there is, for completion: what is read later, too."""
    return [*__all__, "__version__"]
