"""The article's figures, one file each."""

from vramfit_plots.figures import (
    article,
    inference,
    kv_caches,
    levels,
    multi_gpu,
    oom_cliff,
    ops,
    precisions,
    rounding,
    waterfall,
)

__all__ = [
    "article",
    "inference",
    "kv_caches",
    "levels",
    "multi_gpu",
    "oom_cliff",
    "ops",
    "precisions",
    "rounding",
    "waterfall",
]
