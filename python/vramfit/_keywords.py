"""Keywords as the estimator takes them: JSON, and which of them are objects."""

from __future__ import annotations

import json
import math
import operator
import os

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._core import BadInput

TYPE_CHECKING = False  # typing itself takes long to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Keywords that take nothing but what people have in hand; vramfit._adapters reads it.
_ADAPTED = ("args", "accelerate", "axolotl", "quantization_config")
OBJECTS = (*_ADAPTED, "model", "config", "lora")  #: and those that may
_PLAIN = (str, bool, int, float, type(None))


def sizes() -> set[str]:
    """The flags of numbers that a search can go along, of whichever runtime."""
    axes = [axis for runtime in json.loads(_core.runtimes()) for axis in runtime["axes"]]
    return {axis["name"] for axis in axes if not axis["of_names"]}


def is_adapted(name: str, value: Any) -> bool:
    """Whether it is an object that vramfit._adapters makes flags of."""
    if name in _ADAPTED:
        return value is not None
    return name in OBJECTS and not isinstance(value, (*_PLAIN, dict, os.PathLike))


def _as_json(name: str, value: Any) -> Any:
    """What JSON has for a flag's value; what a flag cannot be is refused by the flag's name."""
    if isinstance(value, float) and not math.isfinite(value):
        raise bad_input(f"{name}: is {value}; text, a number or a list")
    if isinstance(value, (*_PLAIN, list, dict)):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, tuple):
        return [*value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "__index__"):  # NumPy's whole numbers
        return operator.index(value)
    if type(value).__name__ == "dtype":  # PyTorch's and NumPy's
        return str(value).removeprefix("torch.")
    raise bad_input(f"{name}: is of type {type(value).__name__}; text, a number or a list")


def written(flags: Mapping[str, Any]) -> str:
    """As JSON."""
    entries = []
    for name, value in flags.items():
        try:
            entries.append(f"{json.dumps(name)}: {json.dumps(_as_json(name, value))}")
        except BadInput:
            raise
        except Exception as error:  # of an object's own
            raise bad_input(f"{name}: {' '.join(str(error).split())}") from error
    return "{" + ", ".join(entries) + "}"
