"""Where a figure can come from. A table by source has a column for each that has figures in it."""

from dataclasses import dataclass


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
BY_KEY = {source.key: source for source in SOURCES}
