"""What is compared: the rows of data/compare.json."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

MODES = {"eager": "PyTorch eager", "compile": "torch.compile"}
# Ours that keep what a PyTorch one keeps; pytorch_side.py says how each is run.
OPTIMIZERS = ("adamw-same", "adamw-master", "sgd")

_SCHEMA = 1
_ROW = re.compile(
    r"Training/(?P<model>[^/]+)/(?P<precision>fp32|fp16|bf16)/(?P<optimizer>[^/]+)"
    r"/batch:(?P<batch>\d+)/seq:(?P<seq>\d+)"
)


class BadInputError(Exception):
    """One line for whoever typed it."""


@dataclass(frozen=True)
class Case:
    row: str  # as bench names it
    model: str
    precision: str
    optimizer: str
    batch: int
    seq: int
    modes: tuple[str, ...]  # PyTorch's, of MODES

    @property
    def title(self) -> str:
        return f"{self.model} {self.precision} {self.optimizer}, {self.batch} x {self.seq} tokens"


def case_of(row: str, modes: list[str]) -> Case:
    match = _ROW.fullmatch(row)
    if not match:
        raise BadInputError(f"{row}: not like Training/llama2-7b/bf16/adamw-same/batch:4/seq:2048")
    if match["optimizer"] not in OPTIMIZERS:
        raise BadInputError(
            f"{row}: PyTorch has no optimizer that keeps what {match['optimizer']} keeps; "
            f"it has for {', '.join(OPTIMIZERS)}"
        )
    if not modes or not set(modes) <= set(MODES):
        raise BadInputError(f"{row}: pytorch: is {modes}; some of {', '.join(MODES)}")
    return Case(
        row,
        match["model"],
        match["precision"],
        match["optimizer"],
        int(match["batch"]),
        int(match["seq"]),
        tuple(modes),
    )


def read_cases(path: Path, only: str = "") -> list[Case]:
    """Those whose row has `only` in its name."""
    try:
        document = json.loads(path.read_text())
        if document["schema"] != _SCHEMA:
            raise BadInputError(f"{path}: schema: this program reads {_SCHEMA}")
        cases = [case_of(entry["row"], entry["pytorch"]) for entry in document["cases"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"{path}: not as data/README.md describes it: {error!r}") from None
    chosen = [case for case in cases if only in case.row]
    if not chosen:
        rows = ", ".join(case.row for case in cases)
        raise BadInputError(f"no case has '{only}' in its name; there are {rows}")
    return chosen
