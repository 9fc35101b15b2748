"""Logs of the run's parts: lines of JSON."""

from pathlib import Path
from typing import Any

from programs import BadInputError, read_jsonl


def said(log: Path, *keys: str) -> list[dict[str, Any]]:
    """Its lines, which all have these. One that a kill tore, or another's, is refused."""
    lines = read_jsonl(log)
    for line in lines:
        lacks = [key for key in keys if not isinstance(line, dict) or key not in line]
        if lacks:
            raise BadInputError(f"{log}: a line of it has no '{lacks[0]}'; remove that line")
    return lines
