"""In what ways a model is run: a tape has a program of each that is not as the plain one. In fp32
Python does what it does in bf16, but for what it casts: a cast to the type that it has is none, and
what is a copy then, and when it is dropped, is otherwise where code turns what it casts."""

from dataclasses import dataclass
from itertools import product

import torch


@dataclass(frozen=True)
class Mode:
    """`beyond`: sequences that a sliding window does not span, for which other masks are made."""

    dtype: torch.dtype = torch.bfloat16
    autocast: torch.dtype | None = None
    attention: str | None = None  # transformers' choice
    padded: bool = False
    beyond: bool = False

    def name(self, task):
        """As TapedLm asks for it."""
        words = {
            "eager": self.attention,
            "fp32": self.dtype == torch.float32,
            "autocast": self.autocast,
            "padded": self.padded,
            "beyond": self.beyond,
        }
        return " ".join([task, *(word for word, holds in words.items() if holds)])

    def types(self):
        """Words for the types that are the run's."""
        return ({self.autocast: "A"} if self.autocast else {}) | {self.dtype: "T"}


def training_modes(slides, plain_fp32):
    """Plain first. `slides`: whether there is a window. `plain_fp32`: whether fp32 is apart."""
    fp32, bf16 = torch.float32, torch.bfloat16
    types = [(bf16, None), (fp32, bf16), (bf16, bf16), *([(fp32, None)] if plain_fp32 else [])]
    kinds = product((None, "eager"), types)
    return [
        Mode(*types, attention, beyond=beyond)
        for beyond, (attention, types) in product(_either(slides), list(kinds))
    ]


def generation_modes(slides):
    kinds = product(_either(slides), (False, True), (None, "eager"))
    return [
        Mode(attention=attention, padded=padded, beyond=beyond)
        for beyond, padded, attention in kinds
    ]


def _either(slides):
    return (False, True) if slides else (False,)
