"""What is asked of a step, which the command writes and the script reads, and what it tells."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_TOLD = "told.json"  # beside what was asked


@dataclass(frozen=True)
class Asked:
    """Names and meanings are those of fit's flags; None where nothing was said."""

    config: dict[str, Any]
    folder: str  # for files of its own
    train: bool = False
    trainer: str = "none"
    precision: str | None = None
    batch: int = 1
    seq: int | None = None
    max_batch: bool = False
    attention: str | None = None
    quant: str | None = None
    quant_compute: str | None = None
    double_quant: bool = False
    device_map: str | None = None
    compile: bool = False
    measured: bool = False  # on the GPU that is there, for so many steps as it takes
    # of training
    optimizer: str | None = None
    autocast: str | None = None
    accumulate: int = 1
    loss_only: bool = False
    checkpoint: str | None = None
    lora: int | None = None
    lora_targets: str | None = None
    # of generation
    generate: int = 1
    padded: bool | None = None
    again: bool = False
    cache_implementation: str | None = None


def write(asked: Asked) -> Path:
    """Into its folder; returns the file."""
    file = Path(asked.folder, "asked.json")
    file.write_text(json.dumps(asdict(asked)))
    return file


def read(file: Path) -> Asked:
    return Asked(**json.loads(file.read_text()))


def tell(asked: Asked, **facts: Any) -> None:
    """Of the step, to the command: beside what was told before."""
    part = Path(asked.folder, f"{_TOLD}.{os.getpid()}")  # two tries of a search tell at a time
    part.write_text(json.dumps({**told(asked), **facts}))
    part.replace(Path(asked.folder, _TOLD))


def told(asked: Asked) -> dict[str, Any]:
    file = Path(asked.folder, _TOLD)
    facts: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return facts
