"""Flags from what people have in hand. Nothing is imported: objects are known by their classes'
names, and read by their attributes. What of them is set and no part of the prediction is named, a
line each."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from vramfit import _core, _yaml
from vramfit._bad_input import bad_input
from vramfit._keywords import is_adapted, written
from vramfit._reading import Flags, Reading
from vramfit._settle import settle


def is_a(value: Any, name: str) -> bool:
    """Whether the object is of a class of that name, or of one made from it."""
    return any(base.__name__ == name for base in type(value).__mro__)


def _version(value: Any, name: str) -> tuple[int, int] | None:
    """Major and minor of the package that has the class of that name, of which the object is."""
    for base in type(value).__mro__:
        if base.__name__ == name:
            package = sys.modules.get(base.__module__.partition(".")[0])
            found = re.match(r"(\d+)\.(\d+)", str(getattr(package, "__version__", "")))
            return (int(found[1]), int(found[2])) if found else None
    return None


def plain(value: Any) -> Any:
    """A dtype by its name ("bfloat16"), an enum by its value."""
    if type(value).__name__ == "dtype":
        return str(value).removeprefix("torch.")
    return getattr(value, "value", value)


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_jsonable(item) for item in value]
    value = plain(value)
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def read_config(config: Any, reading: Reading) -> None:
    """transformers.PretrainedConfig."""
    if not hasattr(config, "to_dict"):
        what = f"is of type {type(config).__name__}; a path, a dict or a PretrainedConfig"
        raise bad_input(f"config: {what}")
    values = _jsonable(config.to_dict())
    quantized = values.pop("quantization_config", None)
    if quantized:
        read_quantization(quantized, reading)
    reading.flags["config"] = values
    name = getattr(config, "_name_or_path", "") or values.get("model_type")
    if name:
        reading.flags["model"] = str(name)


def read_model(model: Any, reading: Reading) -> None:
    """A transformers model, perhaps within PEFT's: its config, and the type that its weights are
    in."""
    config = getattr(model, "config", None)
    if not hasattr(config, "to_dict"):
        raise bad_input(
            f"model: is of type {type(model).__name__}; a name, or a transformers model"
        )
    read_config(config, reading)
    adapters = getattr(model, "peft_config", None)
    if isinstance(adapters, Mapping):
        for adapter in adapters.values():
            read_lora(adapter, reading)
    dtype = getattr(model, "dtype", None)
    if dtype is not None:
        reading.flags["precision"] = plain(dtype)
    if getattr(model, "is_gradient_checkpointing", False):
        reading.flags["gradient_checkpointing"] = True


#: What else of TrainingArguments memory depends on, and their defaults.
ARGUMENTS = {
    "torch_compile": False,
    "use_liger_kernel": False,
    "auto_find_batch_size": False,
    "neftune_noise_alpha": None,
    "optim_args": None,
    "optim_target_modules": None,
    "torch_empty_cache_steps": None,
    "fp16_full_eval": False,
    "bf16_full_eval": False,
    "label_smoothing_factor": 0.0,
    "full_determinism": False,
    "use_cache": False,
    "parallelism_config": None,
    "packing": False,
    "padding_free": False,
    "use_cpu": False,
    "eval_strategy": "no",
}


def _read_sharding(arguments: Any, reading: Reading) -> None:
    """--fsdp, whose words are "full_shard auto_wrap", and what is said of it."""
    fsdp = getattr(arguments, "fsdp", None)
    if not fsdp:
        return
    words = fsdp if isinstance(fsdp, (list, tuple)) else ["full_shard" if fsdp is True else fsdp]
    sharding = " ".join(str(plain(word)) for word in words)
    reading.flags["fsdp"] = sharding.replace("shard_grad_op", "full_shard")
    if "shard_grad_op" in sharding:
        reading.flags["reshard_after_forward"] = False
    section = plain(getattr(arguments, "fsdp_config", None))
    _yaml.read_fsdp(section if isinstance(section, Mapping) else {}, reading)


#: The first TRL whose SFTTrainer patches its model with a fused head: `add_fused_lm_head`.
_FUSED_HEAD = (1, 15)


def read_arguments(arguments: Any, reading: Reading) -> None:
    """transformers.TrainingArguments, or TRL's SFTConfig."""
    if not is_a(arguments, "TrainingArguments"):
        raise bad_input(f"args: is of type {type(arguments).__name__}; TrainingArguments")

    def value(name: str) -> Any:
        return plain(getattr(arguments, name, None))

    flags = reading.flags
    flags["train"] = True
    flags["loss_only"] = True  # of what the model gives, Trainer.compute_loss passes on no more
    if value("deepspeed"):
        flags["deepspeed"] = True  # refused, with what is nearest
    for name in (
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "optim",
        "ddp_bucket_cap_mb",
    ):
        if value(name) is not None:
            flags[name] = value(name)
    length = value("max_length") or value("max_seq_length")
    if isinstance(length, int):
        flags["seq"] = length
    for name in ("activation_checkpointing", "gradient_checkpointing"):  # from 5.23 on, before
        if value(name):
            flags["gradient_checkpointing"] = True
            if value(f"{name}_kwargs"):
                flags["gradient_checkpointing_kwargs"] = _jsonable(value(f"{name}_kwargs"))
            break
    for precision in ("bf16", "fp16"):
        if value(precision):
            reading.train_in(precision)
    # Label smoothing wants the whole logits.
    if (_version(arguments, "SFTConfig") or (0, 0)) >= _FUSED_HEAD and not value(
        "label_smoothing_factor"
    ):
        flags["fused_lm_head"] = True
    _read_sharding(arguments, reading)
    reading.name_set(value, ARGUMENTS)


#: What of LoraConfig memory depends on beside rank and targets.
_LORA = {
    "use_dora": False,
    "bias": "none",
    "modules_to_save": None,
    "rank_pattern": None,
    "layers_to_transform": None,
    "exclude_modules": None,
    "target_parameters": None,
    "trainable_token_indices": None,
    "lora_bias": False,
    "layer_replication": None,
    "use_qalora": False,
    "use_bdlora": None,
    "arrow_config": None,
    "kasa_config": None,
    "monteclora_config": None,
    "velora_config": None,
}


def read_lora(lora: Any, reading: Reading) -> None:
    """peft.LoraConfig."""
    if not is_a(lora, "LoraConfig"):
        raise bad_input(f"lora: is of type {type(lora).__name__}; a rank or a LoraConfig")
    reading.flags["lora"] = lora.r
    if getattr(lora, "lora_dropout", 0):
        reading.flags["lora_dropout"] = lora.lora_dropout
    targets = getattr(lora, "target_modules", None)
    if targets is not None:
        reading.flags["lora_targets"] = targets if isinstance(targets, str) else sorted(targets)
    reading.name_set(lambda name: plain(getattr(lora, name, None)), _LORA)


#: What of BitsAndBytesConfig is no flag, and its default.
_QUANTIZATION = {
    "llm_int8_threshold": 6.0,
    "llm_int8_skip_modules": None,
    "llm_int8_enable_fp32_cpu_offload": False,
    "llm_int8_has_fp16_weight": False,
}


def read_quantization(config: Any, reading: Reading) -> None:
    """transformers.BitsAndBytesConfig, or what a config.json holds of one."""

    def value(name: str) -> Any:
        found = config.get(name) if isinstance(config, Mapping) else getattr(config, name, None)
        return plain(found)

    method = value("quant_method")
    if method not in (None, "bitsandbytes"):
        reading.flags["quantization"] = str(method)  # refused, with what is nearest
        return
    if not (is_a(config, "BitsAndBytesConfig") or isinstance(config, Mapping)):
        raise bad_input(
            f"quantization_config: is of type {type(config).__name__}; BitsAndBytesConfig"
        )
    if value("load_in_8bit"):
        reading.flags["load_in_8bit"] = True
    if value("load_in_4bit"):
        reading.flags["load_in_4bit"] = True
        for name in ("bnb_4bit_quant_type", "bnb_4bit_compute_dtype", "bnb_4bit_use_double_quant"):
            if value(name) is not None:
                reading.flags[name] = value(name)
        if value("bnb_4bit_quant_storage") not in (None, "uint8"):
            reading.flags["bnb_4bit_quant_storage"] = value("bnb_4bit_quant_storage")
    reading.name_set(value, _QUANTIZATION)


def _read(name: str, reader: Callable[[Any, Reading], None], value: Any, reading: Reading) -> None:
    """An object's attributes may do, and raise, what they like."""
    try:
        reader(value, reading)
    except _core.BadInput:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:80]}"
        raise bad_input(
            f"{name}: of type {type(value).__name__}, cannot be read: {what}"
        ) from error


def adapted(given: Flags, axes: Collection[str] = ()) -> tuple[Flags, tuple[str, ...]]:
    """All flags, those that were given by name, or are `axes`, before those of objects; and what is
    not honoured."""
    flags = dict(given)
    readers: dict[str, Callable[[Any, Reading], None]] = {
        "accelerate": _yaml.read_accelerate,
        "axolotl": _yaml.read_axolotl,
        "model": read_model,
        "config": read_config,
        "quantization_config": read_quantization,
        "lora": read_lora,
        "args": read_arguments,
    }
    reading = Reading()
    for name, reader in readers.items():
        if is_adapted(name, flags.get(name)):
            _read(name, reader, flags.pop(name), reading)

    def together(objects: Mapping[str, Any]) -> dict[str, str]:
        merged = {**objects, **flags}
        if isinstance(merged.get("config"), Mapping):
            del merged["config"]
        return _core.own_flags(written(merged), [])

    settle(reading, {*flags, *axes}, together)
    return {**reading.flags, **flags}, tuple(reading.not_honoured)
