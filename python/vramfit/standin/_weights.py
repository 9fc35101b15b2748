"""`from_pretrained` without weights: a checkpoint is made that has the shapes of the true one, and
holes in the place of its numbers. Transformers, or diffusers, loads it as any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from vramfit.standin._door import StandInError
from vramfit.standin._headers import of_cut
from vramfit.standin._imports import when_imported
from vramfit.standin._made_checkpoints import MadeCheckpoints


class RandomWeights:
    """For models of which this machine has the config alone, or the headers of their files."""

    def __init__(self, made: MadeCheckpoints) -> None:
        self._made = made

    def attend(self) -> None:
        """From now on, for as long as the process lives."""
        when_imported("transformers.modeling_utils", self._make_what_is_absent)
        when_imported("diffusers.models.modeling_utils", self._make_what_diffuses)
        when_imported("transformers.tokenization_utils_base", _want_a_tokenizer)
        for module, kind, read in _SETTINGS:
            when_imported(module, functools.partial(_want_settings, kind, read))

    def _make_what_is_absent(self, module: Any) -> None:
        resolve = module._get_resolved_checkpoint_files

        @functools.wraps(resolve)
        def resolved(pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
            name = pretrained_model_name_or_path
            if name is None or kwargs.get("gguf_file") is not None:
                return resolve(name, *args, **kwargs)
            downloads = kwargs.get("download_kwargs") or {}
            local = {**kwargs, "download_kwargs": {**downloads, "local_files_only": True}}
            headers = None
            try:
                found = resolve(name, *args, **local)
                headers = of_cut(found[0] or [])
                if headers is None:
                    return found
            except OSError:
                pass  # there are none
            trusted = kwargs.get("is_remote_code", False)
            place = self._made.of_transformers(
                str(name), downloads, trusted=trusted, headers=headers
            )
            local.update(dict.fromkeys(_OF_THE_TRUE_ONE), download_kwargs={})
            return resolve(str(place), *args, **local)

        module._get_resolved_checkpoint_files = resolved

    def _make_what_diffuses(self, module: Any) -> None:
        mixin: Any = module.ModelMixin
        load: Any = mixin.from_pretrained.__func__

        @functools.wraps(load)
        def loaded(kind: Any, /, pretrained_model_name_or_path: Any, **kwargs: Any) -> Any:
            name = pretrained_model_name_or_path  # as people spell it out
            try:
                return load(kind, name, **{**kwargs, "local_files_only": True})
            except OSError:
                of_repository = ("subfolder", "cache_dir", "revision", "token")
                place = {key: kwargs.pop(key) for key in of_repository if key in kwargs}
                config = kind.load_config(name, **place)
            made = self._made.of_diffusers(
                str(name), place.get("subfolder"), lambda: kind.from_config(config)
            )
            kwargs.pop("variant", None)
            return load(kind, str(made), **kwargs)

        mixin.from_pretrained = classmethod(loaded)


# What tells where the files of the true checkpoint are; theirs is in a folder of its own.
_OF_THE_TRUE_ONE = ("variant", "use_safetensors", "transformers_explicit_filename", "user_agent")


# Classes that are made of a file of settings, and how they read it: no default of theirs is a
# model's own. By the modules that they are in.
_SETTINGS = (
    ("transformers.image_processing_base", "ImageProcessingMixin", "get_image_processor_dict"),
    ("transformers.video_processing_utils", "BaseVideoProcessor", "get_video_processor_dict"),
    (
        "transformers.feature_extraction_utils",
        "FeatureExtractionMixin",
        "get_feature_extractor_dict",
    ),
)


def _want_settings(kind: str, read: str, module: Any) -> None:
    _say_what_is_not_made(getattr(module, kind), read, "processor")


def _want_a_tokenizer(module: Any) -> None:
    def checked(tokenizer: Any, name: Any) -> None:
        """Transformers makes some without their files, of special tokens alone."""
        if len(tokenizer) <= len(tokenizer.all_special_tokens):
            raise StandInError(_not_made(name, "tokenizer"))

    _say_what_is_not_made(module.PreTrainedTokenizerBase, "from_pretrained", "tokenizer", checked)


def _say_what_is_not_made(
    owner: Any, method: str, what: str, check: Callable[[Any, Any], None] = lambda made, name: None
) -> None:
    """Where a class method of `owner` does not find its files."""
    load = getattr(owner, method).__func__

    @functools.wraps(load)
    def loaded(kind: Any, /, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        name = pretrained_model_name_or_path  # as people spell it out
        try:
            made = load(kind, name, *args, **kwargs)
        except (OSError, ValueError, TypeError) as error:
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"vramfit: {_not_made(name, what)}")
            raise
        check(made, name)
        return made

    setattr(owner, method, classmethod(loaded))


def _not_made(name: Any, what: str) -> str:
    return (
        f"--random-weights makes the weights of {name}, and no {what}: its files are to be in the "
        "cache or the folder"
    )
