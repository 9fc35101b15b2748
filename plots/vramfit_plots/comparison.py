"""A run of both programs in turn on one GPU: data/runs/…-compare.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit_plots.schemas import read_json

OURS = "vramfit"
MODES = {"eager": "eager", "compile": "torch.compile"}  # PyTorch's, as the file and as we call them


@dataclass(frozen=True)
class Pair:
    """One row of ours beside one way of PyTorch's. A side has its figures, or `oom` or `error`."""

    row: str
    mode: str
    ours: Mapping[str, Any]
    theirs: Mapping[str, Any]

    def ratio(self, figure: str) -> float | None:
        """Ours over theirs, where both have it."""
        ours, theirs = self.ours.get(figure), self.theirs.get(figure)
        return ours / theirs if ours and theirs else None


@dataclass(frozen=True)
class Comparison:
    context: Mapping[str, str]
    pairs: list[Pair]


def load_comparison(path: Path) -> Comparison:
    document = read_json(path, "comparison")
    pairs = [
        Pair(case["row"], name, case[OURS], case[mode])
        for case in document["cases"]
        for mode, name in MODES.items()
        if mode in case
    ]
    return Comparison(document["context"], pairs)
