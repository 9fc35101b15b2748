"""The cases of data/compare.json."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from programs import BadInputError, read_json

MODES = {"eager": "PyTorch eager", "compile": "torch.compile"}
# Ours that keep what a PyTorch one keeps; pytorch_side.py says how each is run.
OPTIMIZERS = ("adamw-same", "adamw-master", "sgd")

_SCHEMA = 2
_PRECISIONS = ("fp32", "fp16", "bf16")


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


def _complaint(entry: Any) -> str:
    """What keeps an entry from being a case; "" where nothing does."""
    names = [field.name for field in fields(Case)]
    if not isinstance(entry, dict) or sorted(entry) != sorted(names):
        return f"should have {', '.join(names)}"
    if not all(isinstance(entry[key], str) for key in ("model", "precision", "optimizer")):
        return "model, precision and optimizer should be texts"
    if not all(type(entry[key]) is int and entry[key] > 0 for key in ("batch", "seq")):
        return "batch and seq should be integers above 0"
    modes = entry["modes"]
    if not isinstance(modes, list) or not all(isinstance(mode, str) for mode in modes):
        return "modes should be a list of texts"
    return ""


def case_of(entry: Mapping[str, Any]) -> Case:
    if complaint := _complaint(entry):
        raise BadInputError(f"a case {complaint}")
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
    document = read_json(path)
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        raise BadInputError(f"{path}: schema: this program reads {_SCHEMA}")
    entries = document.get("cases")
    if not isinstance(entries, list):
        raise BadInputError(f"{path}: cases: should be a list")
    try:
        cases = [case_of(entry) for entry in entries]
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}") from None
    chosen = [case for case in cases if only in case.row]
    if not chosen:
        rows = ", ".join(case.row for case in cases)
        raise BadInputError(f"no case has '{only}' in its name; there are {rows}")
    return chosen
