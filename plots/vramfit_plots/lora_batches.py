"""The largest batches with LoRA, which `fit` predicts and bench has no rows for."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from vramfit_plots.accuracy.fit import ask
from vramfit_plots.pytorch_rows import LORA_TARGETS
from vramfit_plots.row_name import parse
from vramfit_plots.sources import TORCH

_AXES = ("model", "precision", "optimizer", "seq:", "lora:", "gpu:")


def _largest(program: Path, row: str) -> float:
    name = parse(row, _AXES)
    typed = ["--runtime", "pytorch", "--train", "--max-batch", "--optimizer", "adamw-fused"]
    for axis in ("model", "precision", "seq", "lora", "gpu"):
        typed += [f"--{axis}", name.text(axis)]
    answer = ask(program, [*typed, "--lora-targets", ",".join(LORA_TARGETS)], row)
    return float(answer["max_batch"])


def largest_lora_batches(program: Path, rows: Iterable[str]) -> pd.DataFrame:
    """By row name: "OomCliff/llama2-7b/bf16/adamw-same/seq:512/lora:16/gpu:rtx4090"."""
    found = {row: {f"{TORCH.prefix}max_batch": _largest(program, row)} for row in rows}
    return pd.DataFrame.from_dict(found, orient="index")
