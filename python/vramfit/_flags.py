"""Keywords and their types, for type checkers alone: the flags of `vramfit --help`. Those of
runtimes are in `_settings.py`, which the build writes (python/settings_types.py)."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from vramfit._settings import Number, Searches, Settings

Path = str | PathLike[str]


class Asking(Settings, total=False):
    """What every question takes. Sizes of memory: bytes, or text with a unit ("24GiB")."""

    # which model
    model: Any  #: a name, a Hugging Face id, a path, or a transformers model
    gguf: str | PathLike[str]
    tape: str | PathLike[str]
    config: Any  #: a config.json: its path, what it holds, or a PretrainedConfig
    params: Number
    hidden: Number
    layers: Number
    lora: Any  #: a rank, or a peft LoraConfig
    train: bool
    runtime: str
    # on which GPU
    gpu: str
    vram: Number | float
    headroom: Number | float
    # which answer
    beyond_positions: bool
    formulas: bool
    strict: bool
    # what people have in hand
    args: Any  #: transformers.TrainingArguments
    quantization_config: Any  #: transformers.BitsAndBytesConfig
    accelerate: Path | Mapping[str, Any]
    axolotl: Path | Mapping[str, Any]
    # in the names of transformers
    model_name_or_path: str
    gradient_checkpointing_kwargs: Mapping[str, bool]


class Given(Asking, Searches, total=False):
    """`estimate` also takes what the other questions are made of."""

    advise: bool
