"""Checkpoints that have the shapes of true ones, and holes in the place of their numbers: as the
headers of the true files tell them where those are at hand, and else of a model's config.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from vramfit.standin._config_sizes import too_large
from vramfit.standin._door import StandInError
from vramfit.standin._headers import Files, of_hub
from vramfit.standin._host import Hollows
from vramfit.standin._quantized import (
    changes_experts,
    is_read,
    quantized,
    skipped,
    tells_of_the_head,
)
from vramfit.standin._safetensors import Stored, Tensors, in_a_line, read, write

Json = dict[str, Any]
_ONE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_LONGEST = 200  # letters of a folder's name; files take up to 255

# How it shows that a config's values are not of the kind that they are to be.
_MALFORMED = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, re.error)


class MadeCheckpoints:
    """Folders, one a checkpoint, in `folder`."""

    def __init__(self, hollows: Hollows, folder: Path) -> None:
        self._hollows, self._folder = hollows, folder

    def _place(self, name: str, downloads: Json) -> Path:
        of = (name, downloads.get("revision"), downloads.get("subfolder"))
        whole = "/".join(part for part in of if part).replace("/", "--").strip(".")
        if len(whole) > _LONGEST:
            whole = hashlib.sha256(whole.encode()).hexdigest()
        return self._folder / whole

    def of_transformers(
        self, name: str, downloads: Json, *, trusted: bool, headers: Files | None = None
    ) -> Path:
        """`headers`: those of the true files; without, the Hub is asked for them."""
        import transformers

        place = self._place(name, downloads)
        if place.exists():
            return place
        config = transformers.AutoConfig.from_pretrained(
            name, **downloads, trust_remote_code=trusted or None
        )
        quantization = _quantization(config)
        headers = headers or of_hub(name, downloads)
        if headers is not None and (quantization is None or not _has_values(headers)):
            return self._written(name, place, lambda part: _write(part, headers))
        kind = getattr(transformers, (config.architectures or [""])[0], None)
        if kind is None:
            raise StandInError(
                f"--random-weights: the config of {name} names no class of transformers' own in "
                "'architectures', so its weights are not known"
            )
        if wrong := too_large(config):
            raise StandInError(f"--random-weights: the config of {name}: {wrong}")

        def build() -> Any:
            try:
                return kind._from_config(plain, dtype=config.dtype or torch.float32)
            except Exception as error:  # whichever its code meets a config with that is none
                raise StandInError(
                    f"--random-weights: transformers makes no model of the config of {name}: "
                    f"{in_a_line(error)}"
                ) from error

        def make(part: Path) -> None:
            model = self._saved(part, build)
            if quantization is not None:
                _quantize(part, model, quantization, name, headers)

        plain = copy.copy(config)
        if quantization is not None:
            del plain.quantization_config
        return self._written(name, place, make)

    def of_diffusers(self, name: str, subfolder: str | None, build: Callable[[], Any]) -> Path:
        """`build`: of its config."""
        place = self._place(name, {"subfolder": subfolder})
        return self._written(name, place, lambda part: self._saved(part, build))

    def _saved(self, part: Path, build: Callable[[], Any]) -> Any:
        most = self._hollows.peak
        with torch.device("cpu"), torch.random.fork_rng(devices=[]):
            model = build()
            # Transformers leaves saving to the first rank, which need not be this one.
            model.should_save_on_this_rank = lambda *_: True
            model.save_pretrained(part)
        self._hollows.peak = most  # no real run has it
        return model

    def _written(self, name: str, place: Path, make: Callable[[Path], Any]) -> Path:
        """`place`, where there is such a checkpoint then."""
        if place.exists():
            return place
        part = place.with_name(f"{place.name}.{os.getpid()}")  # others may make it just now
        part.mkdir(parents=True)
        try:
            make(part)
            part.rename(place)
        except OSError as error:
            if not place.exists():
                raise StandInError(
                    f"--random-weights: the files of {name} cannot be made: {error}"
                ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)  # one that is not whole
        return place


def _quantization(config: Any) -> Json | None:
    told: Any = getattr(config, "quantization_config", None)
    return told.to_dict() if hasattr(told, "to_dict") else told


def _write(folder: Path, files: Files) -> None:
    for file, tensors in files.items():
        write(folder / file, tensors, {"format": "pt"})
    if set(files) != {_ONE}:
        where = {tensor: file for file, tensors in files.items() for tensor in tensors}
        size = sum(of.nbytes for tensors in files.values() for of in tensors.values())
        index = {"metadata": {"total_size": size}, "weight_map": where}
        (folder / _INDEX).write_text(json.dumps(index))


def _has_values(files: Files) -> bool:
    return any(is_read(name) for tensors in files.values() for name in tensors)


def _quantize(
    folder: Path, model: Any, quantization: Json, name: str, headers: Files | None
) -> None:
    """Of the checkpoint of a model that is not quantized, in `folder`: as `headers` have it, if
    there are any, and as its config has it."""
    plain: Tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        plain |= read(file)
        file.unlink()
    (folder / _INDEX).unlink(missing_ok=True)
    method = quantization.get("quant_method")
    try:
        made = quantized(plain, quantization, _Linears(model, quantization))
    except KeyError as error:
        raise StandInError(
            f"--random-weights: {name} is quantized by {method}, and what its files hold is not "
            f"told by its config ({error}); download them, or be online: the Hub tells their "
            "headers"
        ) from error
    except _MALFORMED as error:
        raise StandInError(
            f"--random-weights: the quantization_config of {name} is none of {method}'s: "
            f"{in_a_line(error)}"
        ) from error
    if headers is None:
        headers = {_ONE: made}
    else:
        headers = {
            file: {tensor: _with_values(tensor, of, made) for tensor, of in tensors.items()}
            for file, tensors in headers.items()
        }
    _write(folder, headers)


def _with_values(name: str, tensor: Stored, made: Tensors) -> Stored:
    """As headers have it, with the numbers that loaders read of it."""
    if not is_read(name):
        return tensor
    if name not in made:
        raise StandInError(
            f"--random-weights: the numbers of {name} are not told by the config, and loaders read "
            "them: download its file"
        )
    return made[name]


class _Linears:
    """Whether a module of a checkpoint is a linear layer, or an expert's, that was quantized."""

    def __init__(self, model: Any, quantization: Json) -> None:
        self._skipped = skipped(quantization)
        self._has_experts = changes_experts(quantization)
        head = None if tells_of_the_head(quantization) else model.get_output_embeddings()
        self._linears = {
            _in_its_layer(name)
            for name, module in model.named_modules()
            if isinstance(module, torch.nn.Linear) and module is not head
        }

    def __call__(self, module: str) -> bool:
        is_one = _in_its_layer(module) in self._linears or (
            self._has_experts and re.search(r"\.experts\.\d+\.", module) is not None
        )
        return is_one and not any(_matches(module, name) for name in self._skipped)


def _in_its_layer(module: str) -> str:
    """From the list of layers on: what is before it may be named otherwise in the checkpoint."""
    parts = module.split(".")
    first = next((at for at, part in enumerate(parts) if part.isdigit()), len(parts) - 1)
    return ".".join(parts[max(first - 1, 0) :])


def _matches(module: str, name: str) -> bool:
    """As transformers reads such lists (should_convert_module)."""
    return re.match(name, module) is not None or module.endswith(name)
