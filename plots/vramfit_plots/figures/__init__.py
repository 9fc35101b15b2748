"""The article's figures, one file each."""

from vramfit_plots.figures import (
    article,
    checkpointing,
    inference,
    kv_caches,
    levels,
    lora,
    multi_gpu,
    oom_cliff,
    ops,
    precisions,
    rounding,
    scaling,
    sharded,
    waterfall,
    waterfall_optimizers,
)

__all__ = [
    "article",
    "checkpointing",
    "inference",
    "kv_caches",
    "levels",
    "lora",
    "multi_gpu",
    "oom_cliff",
    "ops",
    "precisions",
    "rounding",
    "scaling",
    "sharded",
    "waterfall",
    "waterfall_optimizers",
]
