"""Asks the Python that has PyTorch, which is the machine's own and none of the pinned tools."""

import json
import subprocess
from pathlib import Path
from typing import Any

from programs import BadInputError


def last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def answer(python: str, program: Path, *arguments: str) -> dict[str, Any]:
    """What the program printed last, as JSON; its `gpu` is null where PyTorch can use none. What
    is missing is bad input: the Python, PyTorch or the GPU."""
    try:
        process = subprocess.run(
            [python, program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BadInputError(
            f"{python}: {error.strerror}; TORCH_PYTHON=FILE names another"
        ) from None
    if process.returncode:
        raise BadInputError(
            f"{python} {last_line(process.stderr)}; install what is missing ({python} -m pip "
            "install torch transformers), or name a Python that has it with TORCH_PYTHON=FILE"
        )
    try:
        found = json.loads(last_line(process.stdout))
        gpu = found["gpu"]
    except (ValueError, TypeError, KeyError):
        raise BadInputError(f"{python} is no Python that answers") from None
    if gpu is None:
        raise BadInputError("no GPU that PyTorch can use; what it takes is measured on one")
    return found
