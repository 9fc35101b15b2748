"""Questions: keywords in, an answer out."""

from __future__ import annotations

import json
import math
import operator
import os

from vramfit import _core
from vramfit._answer import Answer
from vramfit._bad_input import bad_input
from vramfit._core import BadInput

TYPE_CHECKING = False  # typing itself takes long to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from typing_extensions import Unpack

    from vramfit._flags import Asking, Given

#: Keywords that take nothing but what people have in hand; vramfit._adapters reads it.
_ADAPTED = ("args", "accelerate", "axolotl", "quantization_config")
OBJECTS = (*_ADAPTED, "model", "config", "lora")  #: and those that may
_PLAIN = (str, bool, int, float, type(None))


def is_adapted(name: str, value: Any) -> bool:
    """Whether it is an object that vramfit._adapters makes flags of."""
    if name in _ADAPTED:
        return value is not None
    return name in OBJECTS and not isinstance(value, (*_PLAIN, dict, os.PathLike))


def _flags(
    given: dict[str, Any], axes: tuple[str, ...] = ()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The flags, and what of the objects among them cannot be honoured. `axes`, flags that have
    other values, go before what objects say, too. None is as good as no flag."""
    flags = {name: value for name, value in given.items() if value is not None}
    if not any(is_adapted(name, value) for name, value in flags.items()):
        return flags, ()
    from vramfit._adapters import adapted

    return adapted(flags, axes)


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


def _written(flags: Mapping[str, Any]) -> str:
    """As JSON."""
    written = []
    for name, value in flags.items():
        try:
            written.append(f"{json.dumps(name)}: {json.dumps(_as_json(name, value))}")
        except BadInput:
            raise
        except Exception as error:  # of an object's own
            raise bad_input(f"{name}: {' '.join(str(error).split())}") from error
    return "{" + ", ".join(written) + "}"


def _asked(given: dict[str, Any]) -> Answer:
    flags, not_honoured = _flags(given)
    return _asked_with(flags, [], not_honoured)


def _asked_with(flags: dict[str, Any], more: list[str], not_honoured: tuple[str, ...]) -> Answer:
    """`more`: arguments of a command line."""
    written = _written(flags)
    asked = _core.ask(written, more)
    answer = Answer(written, (*more,), asked.json(), asked.fits(), not_honoured)
    vars(answer)["_asked"] = asked
    return answer


def estimate(**flags: Unpack[Given]) -> Answer:
    """What a run takes, and whether it fits.

    Keywords are the flags of the command `vramfit` (`vramfit --help`), "_" for "-":
    `model="llama2-7b"`, `train=True`, `batch=4`, `seq=512`, `gpu="rtx4090"`, and transformers' and
    PEFT's names for them. Sizes of memory are text or numbers, "24GiB" or bytes; times are none.
    Besides, what people have in hand:

    - `model`: a transformers model, or `config`: its PretrainedConfig, or a config.json as a dict;
    - `args`: TrainingArguments, `lora`: a peft LoraConfig, `quantization_config`: a
      BitsAndBytesConfig;
    - `accelerate`, `axolotl`: the path of their YAML, or what it holds.

    What is given twice is the keyword's. `Answer.not_honoured` names what of these is not part of
    the prediction. Raises BadInput.
    """
    return _asked(dict(flags))


def max_batch(**flags: Unpack[Asking]) -> Answer:
    """The largest batch that fits: `.largest`, with `.largest.surely` and `.possibly`. Otherwise as
    `estimate`."""
    return _asked({**flags, "max_batch": True})


def max_seq(**flags: Unpack[Asking]) -> Answer:
    """The longest sequence that fits, in tokens: `.largest`. Otherwise as `estimate`."""
    return _asked({**flags, "max_seq": True})


def advise(**flags: Unpack[Asking]) -> Answer:
    """What would make it fit, the cheapest first: `.advice`. Otherwise as `estimate`, of one
    card."""
    return _asked({**flags, "advise": True})
