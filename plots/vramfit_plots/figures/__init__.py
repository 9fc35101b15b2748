"""The article's figures, one file each."""

from vramfit_plots.figures import inference, levels, multi_gpu, oom_cliff, ops, waterfall

__all__ = ["inference", "levels", "multi_gpu", "oom_cliff", "ops", "waterfall"]
