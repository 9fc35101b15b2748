"""vLLM's loaders where there are no weights: they read a checkpoint that is made.

The names are those of vLLM 0.26 and 0.33 (model_executor/model_loader, transformers_utils);
bitsandbytes has a loader of its own in 0.26 alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vramfit.standin._door import StandInError
from vramfit.standin._headers import of_cut
from vramfit.standin._made_checkpoints import MadeCheckpoints
from vramfit.standin._vllm_releases import when_has

# Of checkpoints as the Hub has them: where they look for files, and what looks at headers alone.
_LOADERS = (
    ("vllm.model_executor.model_loader.default_loader", "DefaultModelLoader"),
    ("vllm.model_executor.model_loader.bitsandbytes_loader", "BitsAndBytesModelLoader"),
)
_HEADERS = ("vllm.transformers_utils.config", "get_safetensors_params_metadata")
_KINDS = ("*.safetensors", "*.bin", "*.pt", "*.gguf")


class VllmWeights:
    """For models of which this machine has the config alone, or the headers of their files."""

    def __init__(self, made: MadeCheckpoints, refuse: Callable[[StandInError], None]) -> None:
        """`refuse` ends the run: an engine catches what its loaders raise, and tells of it at
        length."""
        self._made, self._refuse = made, refuse

    def attend(self) -> None:
        """From now on, for as long as the process lives."""
        for name, kind in _LOADERS:
            when_has((name,), kind, functools.partial(self._attend_loader, kind))
        when_has((_HEADERS[0],), _HEADERS[1], self._attend_headers)

    def _attend_loader(self, kind: str, module: Any) -> None:
        loader = getattr(module, kind)
        prepare = loader._prepare_weights

        @functools.wraps(prepare)
        def prepared(self_: Any, name: str, *args: Any, **kwargs: Any) -> Any:
            return prepare(self_, self._place(name), *args, **kwargs)

        loader._prepare_weights = prepared

    def _attend_headers(self, module: Any) -> None:
        read = getattr(module, _HEADERS[1])

        @functools.wraps(read)
        def told(model: str, **kwargs: Any) -> Any:
            return read(self._place(model), **kwargs)

        setattr(module, _HEADERS[1], told)

    def _place(self, name: str) -> str:
        """Where the weights of this model are: in its folder or repository, or in one that is
        made."""
        try:
            files = _weights_at_hand(name)
            headers = of_cut(files)
            if files and headers is None:
                return name
            return str(self._made.of_transformers(name, {}, trusted=False, headers=headers))
        except StandInError as error:
            self._refuse(error)
            raise


def _weights_at_hand(name: str) -> list[str]:
    """The files of weights in a folder, or of a repository in the Hub's cache."""
    folder = Path(name)
    if not folder.is_dir():
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(name, "config.json")
        if not isinstance(cached, str):
            return []
        folder = Path(cached).parent
    return [str(file) for kind in _KINDS for file in folder.glob(kind)]
