"""The cases of data/compare.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODES = {"eager": "PyTorch eager", "compile": "torch.compile"}
# Ours that keep what a PyTorch one keeps; pytorch_side.py says how each is run.
OPTIMIZERS = ("adamw-same", "adamw-master", "sgd")

_SCHEMA = 2
_PRECISIONS = ("fp32", "fp16", "bf16")


class BadInputError(Exception):
    """One line for whoever typed it."""


@dataclass(frozen=True)
class Case:
    model: str
    precision: str
    optimizer: str
    batch: int
    seq: int
    modes: tuple[str, ...]  # PyTorch's, of MODES

    @property
    def row(self) -> str:
        """Its name in bench."""
        start = f"Training/{self.model}/{self.precision}/{self.optimizer}"
        return f"{start}/batch:{self.batch}/seq:{self.seq}"

    @property
    def title(self) -> str:
        return f"{self.model} {self.precision} {self.optimizer}, {self.batch} x {self.seq} tokens"


def case_of(entry: Mapping[str, Any]) -> Case:
    case = Case(**{**entry, "modes": tuple(entry["modes"])})
    if case.precision not in _PRECISIONS:
        raise BadInputError(f"precision: is {case.precision}; one of {', '.join(_PRECISIONS)}")
    if case.optimizer not in OPTIMIZERS:
        raise BadInputError(
            f"{case.row}: PyTorch has no optimizer that keeps what {case.optimizer} keeps; "
            f"it has for {', '.join(OPTIMIZERS)}"
        )
    if not case.modes or not set(case.modes) <= set(MODES):
        raise BadInputError(f"{case.row}: modes: is {entry['modes']}; some of {', '.join(MODES)}")
    return case


def read_cases(path: Path, only: str = "") -> list[Case]:
    """The cases whose row has `only` in its name."""
    try:
        document = json.loads(path.read_text())
        if document["schema"] != _SCHEMA:
            raise BadInputError(f"{path}: schema: this program reads {_SCHEMA}")
        cases = [case_of(entry) for entry in document["cases"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"{path}: not as data/README.md describes it: {error!r}") from None
    chosen = [case for case in cases if only in case.row]
    if not chosen:
        rows = ", ".join(case.row for case in cases)
        raise BadInputError(f"no case has '{only}' in its name; there are {rows}")
    return chosen
