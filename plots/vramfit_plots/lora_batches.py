"""The largest batches with LoRA, which `fit` predicts of PyTorch where bench has no rows."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from vramfit_plots.accuracy.fit import ask
from vramfit_plots.pytorch_rows import LORA_TARGETS
from vramfit_plots.row_name import parse
from vramfit_plots.sources import TORCH

_AXES = ("model", "precision", "optimizer")
_LEVELS = ("allocated", "reserved", "device_used")
_STORED = {  # what a base model's weights are stored in, as `fit` is asked for it
    "bf16": ["--precision", "bf16"],
    "int8": ["--precision", "bf16", "--quant", "int8"],
    "nf4": ["--precision", "bf16", "--quant", "nf4"],
}


def kin(rows: Iterable[str]) -> list[str]:
    """These rows, and the same of weights that are stored otherwise and with checkpointing."""
    found = []
    for row in rows:
        own = parse(row, _AXES).text("precision")
        of_each = [row.replace(f"/{own}/", f"/{stored}/") for stored in _STORED]
        found += of_each + [f"{name}/checkpoint:full" for name in of_each]
    return found


def _largest(program: Path, row: str) -> dict[str, float]:
    name = parse(row, _AXES)
    typed = ["--runtime", "pytorch", "--train", "--max-batch", *_STORED[name.text("precision")]]
    for axis in ("optimizer", "model", "seq", "lora", "gpu", "checkpoint"):
        if axis in name.axes:
            typed += [f"--{axis}", name.text(axis)]
    answer = ask(program, [*typed, "--lora-targets", ",".join(LORA_TARGETS)], row)
    levels = {level: answer["levels"][level] for level in _LEVELS}
    return {"max_batch": float(answer["max_batch"]), **levels}


def largest_lora_batches(program: Path, rows: Iterable[str]) -> pd.DataFrame:
    """By row name: "OomCliff/llama2-7b/int8/adamw/seq:512/lora:16/gpu:rtx4090"."""
    found = {
        row: {f"{TORCH.prefix}{key}": value for key, value in _largest(program, row).items()}
        for row in rows
    }
    return pd.DataFrame.from_dict(found, orient="index")
