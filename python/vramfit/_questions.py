"""Questions: keywords in, an answer out."""

from __future__ import annotations

import re

from vramfit import _core
from vramfit._answer import Answer
from vramfit._core import BadInput
from vramfit._keywords import is_adapted, written

TYPE_CHECKING = False  # typing itself takes long to import
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Unpack

    from vramfit._flags import Asking, Given


def flags_of(
    given: dict[str, Any], axes: tuple[str, ...] = ()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The flags, and what of the objects among them cannot be honoured. `axes`, flags that have
    other values, go before what objects say, too. None is as good as no flag."""
    flags = {name: value for name, value in given.items() if value is not None}
    if not any(is_adapted(name, value) for name, value in flags.items()):
        return flags, ()
    from vramfit._adapters import adapted

    return adapted(flags, axes)


def in_python_words(line: str) -> str:
    """A refusal of the command's, as keywords are spelt: "lora_targets: only with lora"."""
    line = line.replace("vramfit --list shows", "vramfit.models() and .cards() list")
    line = line.replace("vramfit --list", "vramfit.models()")
    line = re.sub(r"--([a-z][a-z0-9-]*)", lambda flag: flag[1].replace("-", "_"), line)
    line = line.replace("unknown flag '", "unknown keyword '")
    return re.sub(r"^[a-z][a-z0-9-]*(?=:)", lambda flag: flag[0].replace("-", "_"), line)


def _asked(given: dict[str, Any]) -> Answer:
    flags, not_honoured = flags_of(given)
    try:
        return asked_with(flags, [], not_honoured)
    except BadInput as error:
        raise type(error)(in_python_words(str(error))) from None


def asked_with(flags: dict[str, Any], more: list[str], not_honoured: tuple[str, ...]) -> Answer:
    """`more`: arguments of a command line."""
    as_json = written(flags)
    asked = _core.ask(as_json, more)
    answer = Answer(as_json, (*more,), asked.json(), asked.fits(), not_honoured)
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


def largest(axis: str, /, **flags: Unpack[Asking]) -> Answer:
    """The largest that fits of a size that the runtime has a search for, "batch", "seq", or of
    llama.cpp "ctx", "parallel", "gpu_layers": `.largest`, with `.largest.surely` and `.possibly`.
    Otherwise as `estimate`."""
    return _asked({**flags, f"max_{axis}": True})


def max_batch(**flags: Unpack[Asking]) -> Answer:
    """The largest batch that fits: `largest("batch", …)`."""
    return largest("batch", **flags)


def max_seq(**flags: Unpack[Asking]) -> Answer:
    """The longest sequence that fits, in tokens: `largest("seq", …)`."""
    return largest("seq", **flags)


def advise(**flags: Unpack[Asking]) -> Answer:
    """What would make it fit, the cheapest first: `.advice`. Otherwise as `estimate`, of one
    card."""
    return _asked({**flags, "advise": True})
