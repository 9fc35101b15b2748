"""What fewer bits cost a model that was trained: data/quality/results.json, which `make quality`
measures."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit_plots.schemas import read_json

BASE = "bf16"  # what others are held against
UNQUANTIZED = "unquantized"


@dataclass(frozen=True)
class Score:
    """Of held-out text, read token by token against the cache."""

    precision: str
    cache: str
    loss: float  # nats a token
    tokens: int

    @property
    def perplexity(self) -> float:
        return math.exp(self.loss)


@dataclass(frozen=True)
class Tuned:
    """A fine-tuning on a slice of text; losses are of what of the slice was held out."""

    name: str
    precision: str  # of what is frozen, or of all
    lora: int  # rank; 0: everything was trained
    loss_before: float
    loss_after: float

    @property
    def before(self) -> float:
        return math.exp(self.loss_before)

    @property
    def after(self) -> float:
        return math.exp(self.loss_after)


@dataclass(frozen=True)
class Quality:
    facts: Mapping[str, str]  # of the machine, and the command
    course: Mapping[str, Any]  # data/quality/course.json, as it was followed
    losses: Mapping[str, Sequence[float]]  # of each step, by side: "vramfit", "PyTorch"
    held_out: Sequence[tuple[int, float]]  # steps taken, loss
    scores: Sequence[Score]
    tuned: Sequence[Tuned]

    @property
    def tokens_a_step(self) -> int:
        return int(self.course["batch"] * self.course["seq"])

    @property
    def tokens(self) -> int:
        """That were learnt from, those that were read again included."""
        return len(self.losses["vramfit"]) * self.tokens_a_step

    def score(self, precision: str, cache: str = UNQUANTIZED) -> Score | None:
        found = (s for s in self.scores if (s.precision, s.cache) == (precision, cache))
        return next(found, None)

    def above(self, score: Score) -> float | None:
        """A share of the base's perplexity."""
        base = self.score(BASE)
        return None if base is None else score.perplexity / base.perplexity - 1


def load_quality(path: Path) -> Quality:
    found = read_json(path, "quality")
    return Quality(
        facts=found["facts"],
        course=found["course"],
        losses=found["losses"],
        held_out=[(step, loss) for step, loss in found["held_out"]],
        scores=[Score(**score) for score in found["scores"]],
        tuned=[Tuned(**tuned) for tuned in found["tuned"]],
    )
