"""The model: built from its config on the GPU, or read by from_pretrained where files matter."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, __version__
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from vramfit._step.asked import Asked
from vramfit.standin._config_sizes import MOST
from vramfit.standin._door import StandInError

DEVICE = "cuda"
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def config_of(asked: Asked) -> PreTrainedConfig:
    """Raises StandInError where transformers has no causal language model of its type."""
    kind = asked.config["model_type"]
    if kind not in CONFIG_MAPPING:
        raise StandInError(f"transformers {__version__} has no model of the type '{kind}'")
    given = {key: value for key, value in asked.config.items() if key != "auto_map"}  # no code
    file = Path(asked.folder, "config.json")
    file.write_text(json.dumps(given))
    try:
        config = AutoConfig.from_pretrained(file)
    except Exception as error:  # whichever its code meets a config with that is none
        raise refusal_of(error) from error
    _check_sizes(config)
    if type(config) not in AutoModelForCausalLM._model_mapping:
        raise StandInError(f"transformers {__version__} has no causal language model of '{kind}'")
    config.use_cache = not asked.train
    config.dtype = DTYPES[asked.precision] if asked.precision else config.dtype or torch.bfloat16
    return config


def _check_sizes(config: PreTrainedConfig) -> None:
    """So that nothing is built without end, or of fewer numbers than none."""
    text = config.get_text_config(decoder=True)
    for name, most in MOST.items():
        size = getattr(text, name, None)
        if isinstance(size, int) and not 1 <= size <= most:
            raise StandInError(f"{name}: is {size}; a whole number from 1 to {most}")


def vocabulary(model: torch.nn.Module) -> int:
    """Of tokens that any of its parts knows."""
    return int(model.config.get_text_config(decoder=True).vocab_size)


def build(asked: Asked) -> Any:
    """Of the type that its config names, or bf16, unless another is asked for. Raises StandInError
    where transformers refuses."""
    torch.manual_seed(0)
    torch.zeros(1, device=DEVICE)  # as in data/reference, CUDA's context comes first
    config = config_of(asked)
    try:
        if asked.quant or asked.device_map or is_stored_quantised(config):
            return _read(asked, config)
        device = torch.device(DEVICE if asked.trainer == "none" else "cpu")
        with device:
            model = AutoModelForCausalLM.from_config(
                config, dtype=config.dtype, attn_implementation=asked.attention
            )
        return model.to(device)  # some make a tensor of their own on the host
    except (ValueError, ImportError) as error:
        raise refusal_of(error) from error


def refusal_of(error: Exception) -> StandInError:
    """By its first line, and the one that this leads up to."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    return StandInError(f"transformers refuses: {' '.join(lines[: 1 + lines[0].endswith(':')])}")


def is_stored_quantised(config: PreTrainedConfig) -> bool:
    return getattr(config, "quantization_config", None) is not None


def quantised_by(model: Any) -> str | None:
    """The method by which its weights lie on the GPU. None: none, as where transformers unpacked
    them."""
    quantizer = getattr(model, "hf_quantizer", None)
    if quantizer is None:
        return None
    method = quantizer.quantization_config.quant_method  # of some an enumeration's, of some a text
    return str(getattr(method, "value", method))


def _read(asked: Asked, config: PreTrainedConfig) -> Any:
    """By from_pretrained, of a checkpoint that is made as it is asked for."""
    folder = Path(asked.folder, "model")
    config.architectures = [AutoModelForCausalLM._model_mapping[type(config)].__name__]
    if asked.measured:  # on the host, so that nothing of it is left on the card
        AutoModelForCausalLM.from_config(config, dtype=config.dtype).save_pretrained(folder)
    else:  # the stand-in answers for files that are not there
        config.save_pretrained(folder)
    # One that is None would take the place of the config's own.
    quantization = (
        {"quantization_config": _quantization(asked, config.dtype)} if asked.quant else {}
    )
    model = AutoModelForCausalLM.from_pretrained(
        folder,
        device_map=asked.device_map or "cuda",
        dtype=config.dtype,
        attn_implementation=asked.attention,
        **quantization,
    )
    model.config.use_cache = config.use_cache
    return model


def _quantization(asked: Asked, dtype: torch.dtype) -> Any:
    from transformers import BitsAndBytesConfig

    if asked.quant == "int8":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type=asked.quant,
        bnb_4bit_use_double_quant=asked.double_quant,
        bnb_4bit_compute_dtype=DTYPES[asked.quant_compute] if asked.quant_compute else dtype,
    )


def positions_of(model: torch.nn.Module) -> int | None:
    """As many as its config names."""
    config = model.config.get_text_config(decoder=True)
    return getattr(config, "max_position_embeddings", None)


def _parameters(model: Any) -> int:
    """As many as there were before they were packed, which transformers knows of bitsandbytes'."""
    if quantised_by(model) in (None, "bitsandbytes"):
        count: int = model.num_parameters()
        return count
    config = copy.deepcopy(model.config)
    del config.quantization_config
    with torch.device("meta"):
        return _parameters(AutoModelForCausalLM.from_config(config))


def facts_of(model: Any) -> dict[str, Any]:
    """What there is to say of it."""
    return {
        "parameters": _parameters(model),
        "quantised_by": quantised_by(model),
        "precision": str(model.config.dtype).removeprefix("torch."),
        "attention": model.config._attn_implementation,
        "positions": positions_of(model),
    }
