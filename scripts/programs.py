"""What the programs here share with those of plots/: how they read, write and refuse."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "plots"))  # also where nothing is installed: it needs Python alone

from vramfit_plots.command_line import Arguments, file_or_folder, program  # noqa: E402
from vramfit_plots.files import (  # noqa: E402
    BadInputError,
    parse_json,
    read_json,
    read_jsonl,
    read_text,
    writing,
)


def cases_to_record(path: Path) -> list[dict[str, Any]]:
    """The cases of a file that measure_pytorch.py reads too."""
    cases = read_json(path)
    if not isinstance(cases, list) or not all(
        isinstance(case, dict) and isinstance(case.get("model"), str) for case in cases
    ):
        raise BadInputError(f"{path}: should be a list of cases, each with its model")
    return cases


def require_made(files: Mapping[Path, str]) -> None:
    """Raises BadInputError where one is not there. `files`: the make target of each."""
    for file, target in files.items():
        if not file.exists():
            raise BadInputError(f"{file}: is not there; `make {target}` makes it")


__all__ = [
    "ROOT",
    "Arguments",
    "BadInputError",
    "cases_to_record",
    "file_or_folder",
    "parse_json",
    "program",
    "read_json",
    "read_jsonl",
    "read_text",
    "require_made",
    "writing",
]
