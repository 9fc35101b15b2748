"""What PyTorch takes on several GPUs where bench predicts nothing (pipelines), asked of `fit`."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from vramfit_plots.accuracy.fit import ask
from vramfit_plots.rows import Spread, spread
from vramfit_plots.sources import TORCH


def _flags(one: Spread, optimizer: str, card: str) -> list[str]:
    asked = {
        "runtime": "pytorch",
        "gpu": card,
        "model": one.model,
        "precision": one.precision,
        "optimizer": optimizer,
        "batch": one.batch,
        "seq": one.seq,
        "gpus": one.gpus,
        "strategy": one.strategy,
        "accumulate": one.micro_batches,
    }
    return ["--train", *(text for key, value in asked.items() for text in (f"--{key}", str(value)))]


def predicted(
    program: Path, rows: Iterable[str], theirs: Mapping[str, str], card: str
) -> pd.DataFrame:
    """After each stage, by row; of the GPU that takes most. `theirs` is PyTorch's optimizer by
    ours. Throws BadInputError where `fit` cannot answer."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        one = spread(row)
        if one is None or one.optimizer not in theirs:
            continue
        stages = ask(program, _flags(one, theirs[one.optimizer], card), row)["stages"]
        found[row] = {
            f"{TORCH.prefix}step{stage['step']}_{stage['name']}_after": stage["after"]
            for stage in stages
            if stage["step"]
        }
    return pd.DataFrame.from_dict(found, orient="index")
