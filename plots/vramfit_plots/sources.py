"""Where a figure can come from. A table by source has a column for each that has figures in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True)
class Source:
    key: str  # as SOURCE= and --source have it
    heading: str
    prefix: str  # of its counters, before e.g. "allocated"; "" where it has none

    @property
    def side(self) -> str:
        """Whose figures they are, predicted or measured: "vramfit", "PyTorch"."""
        return self.heading.split()[0]


# The article's figures are those it prints. What its formulas give are counters of their own,
# `article_*`, and never a source.
ARTICLE = Source("article", "article", "")
PREDICTED = Source("predicted", "vramfit predicted", "pred_")
MEASURED = Source("measured", "vramfit measured", "mem_")
TORCH = Source("pytorch-predicted", "PyTorch predicted", "pytorch_")
TORCH_MEASURED = Source("pytorch-measured", "PyTorch measured", "pytorch_measured_")

SOURCES = (ARTICLE, PREDICTED, MEASURED, TORCH, TORCH_MEASURED)
COUNTED = tuple(source for source in SOURCES if source.prefix)
# Who stands in where a source has no figure: what was measured goes before what is predicted.
STAND_INS = (MEASURED, TORCH_MEASURED, PREDICTED, TORCH)
# Whose figures stand for a side: what was measured, where it was.
OURS, THEIRS = (MEASURED, PREDICTED), (TORCH_MEASURED, TORCH)
TIMED = (MEASURED, TORCH_MEASURED)  # speeds have no prediction
BY_KEY = {source.key: source for source in SOURCES}

T = TypeVar("T")


def best_of_each_side(
    ask: Callable[[Source], T | None], sides: Sequence[Sequence[Source]] = (OURS, THEIRS)
) -> list[T]:
    """Of each side what the first of its sources that has anything answers."""
    found = (next(filter(None, map(ask, sources)), None) for sources in sides)
    return [one for one in found if one]
