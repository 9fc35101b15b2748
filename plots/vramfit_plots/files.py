"""Reading JSON, and where the project's data lies."""

import json
import os
from pathlib import Path
from typing import Any

from vramfit_plots.errors import BadInputError


def data_dir() -> Path:
    """$VRAMFIT_DATA, as for the other programs; otherwise the checkout's."""
    if given := os.environ.get("VRAMFIT_DATA"):
        return Path(given)
    return Path(__file__).resolve().parents[2] / "data"


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInputError(f"{path}: not a text in UTF-8") from None


def parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInputError(f"{where}: not JSON: {error}") from None


def read_json(path: Path) -> dict[str, Any]:
    value = parse_json(read_text(path), str(path))
    if not isinstance(value, dict):
        raise BadInputError(f"{path}: should hold one JSON object")
    return value


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """One object a line."""
    lines = read_text(path).splitlines()
    return [parse_json(line, f"{path}:{i}") for i, line in enumerate(lines, 1) if line.strip()]
