"""What there is of a checkpoint's true files without their numbers: the headers of safetensors
files, which the Hub gives, and files that end behind them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vramfit.standin._door import StandInError
from vramfit.standin._safetensors import Stored, Tensors, is_cut, read

Files = dict[str, Tensors]  # by their names in the checkpoint's folder

_KEYS = ("revision", "token")  # of what transformers is told of a download


def of_hub(name: str, downloads: dict[str, Any]) -> Files | None:
    """None where the Hub is out of reach, or has no such files. Raises StandInError where what it
    says cannot be written as files."""
    if Path(name).is_dir() or downloads.get("subfolder"):
        return None
    import huggingface_hub as hub

    if hub.constants.HF_HUB_OFFLINE or downloads.get("local_files_only"):
        return None
    of = {key: downloads[key] for key in _KEYS if downloads.get(key)}
    try:
        told = hub.get_safetensors_metadata(name, **of)
    except Exception:  # its own, and those of whichever library it asks the net by
        return None
    try:
        return {
            _in_one_folder(file): {
                tensor: Stored(str(info.dtype), tuple(info.shape))
                for tensor, info in header.tensors.items()
            }
            for file, header in told.files_metadata.items()
        }
    except ValueError as error:
        raise StandInError(
            f"the Hub's headers of {name} are none of safetensors': {error}"
        ) from None


def _in_one_folder(file: str) -> str:
    """The name of a file, which an index of somebody's says."""
    if Path(file).name != file:
        raise ValueError(f"a file named {file!r}")
    return file


def of_cut(files: list[str]) -> Files | None:
    """Of safetensors files, if one of them ends before its numbers do."""
    weights = [Path(file) for file in files if file.endswith(".safetensors")]
    return {file.name: read(file) for file in weights} if any(map(is_cut, weights)) else None
