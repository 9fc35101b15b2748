"""Where a figure can come from. A table has a column for each source that has figures in it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    key: str
    heading: str
    prefix: str  # of its counters, before e.g. "allocated"; "" where it has none
    baseline: str | None  # key of the source that its deviation is taken from
    always: bool  # has its column even where it holds no figure


# The article's figures are those it prints. What its formulas give are counters of their own,
# `article_*`, and never a source.
ARTICLE = Source("article", "article", "", None, always=False)
PREDICTED = Source("predicted", "predicted", "pred_", "article", always=True)
MEASURED = Source("measured", "measured", "mem_", "predicted", always=False)
TORCH = Source("torch", "PyTorch predicted", "pytorch_", "predicted", always=False)
TORCH_MEASURED = Source(
    "torch_measured", "PyTorch measured", "pytorch_measured_", "torch", always=False
)

SOURCES = (ARTICLE, PREDICTED, MEASURED, TORCH, TORCH_MEASURED)
COUNTED = tuple(source for source in SOURCES if source.prefix)
BY_KEY = {source.key: source for source in SOURCES}
