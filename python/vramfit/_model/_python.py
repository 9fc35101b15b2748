"""By which Python a step runs: one that has PyTorch, which need not be vramfit's."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from vramfit._bad_input import bad_input

SCRIPT = Path(__file__).parents[1] / "_step" / "start.py"


def python_with_pytorch(given: str | None) -> str:
    """One that has what it takes, as far as can be told without asking it."""
    if given is not None:
        return given
    if find_spec("torch") and find_spec("transformers"):
        return sys.executable
    other = shutil.which("python") or shutil.which("python3")
    if other is None:
        raise bad_input(f"model: {sys.executable} has no torch and transformers: --python FILE")
    return other
