"""Accelerate's and axolotl's YAML as flags. Neither package is imported."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._reading import Reading


def load(path: str | os.PathLike[str], flag: str) -> dict[str, Any]:
    """A YAML file's mapping. Raises BadInput, which names the flag and the file."""
    import yaml

    text = _core.read_file(os.fsencode(path), flag, "a YAML file")
    try:
        values = yaml.safe_load(text.decode())
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise bad_input(
            f"{flag}: '{path}' is no YAML: {' '.join(str(error).split())[:80]}"
        ) from None
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise bad_input(f"{flag}: '{path}' holds no keys and values")
    return values


def _mapping(given: Any, flag: str) -> Mapping[str, Any]:
    if isinstance(given, (str, os.PathLike)):
        return load(given, flag)
    if isinstance(given, Mapping):
        return given
    raise bad_input(f"{flag}: is of type {type(given).__name__}; the path of its YAML, or a dict")


def _section(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    section = values.get(key) or {}
    if not isinstance(section, Mapping):
        raise bad_input(f"{key}: is '{section}'; keys and values")
    return section


def _no(value: Any) -> bool:
    """Whether it says no, or nothing."""
    return (
        value is None
        or value in (False, 0, "", [], {})
        or str(value).lower() in ("no", "none", "false")
    )


#: Keys of Accelerate's that no byte depends on, and those that are read below.
_ACCELERATE_NEUTRAL = {
    "compute_environment",
    "debug",
    "downcast_bf16",
    "enable_cpu_affinity",
    "gpu_ids",
    "machine_rank",
    "main_process_ip",
    "main_process_port",
    "main_training_function",
    "rdzv_backend",
    "same_network",
    "tpu_env",
    "tpu_use_cluster",
    "tpu_use_sudo",
    "commands",
    "command_file",
    "tpu_name",
    "tpu_zone",
    "fsdp_config",
    "distributed_type",
    "mixed_precision",
    "num_machines",
    "num_processes",
    "gradient_accumulation_steps",
}
_FSDP_NEUTRAL = {
    "fsdp_auto_wrap_policy",
    "fsdp_backward_prefetch",
    "fsdp_backward_prefetch_policy",
    "fsdp_forward_prefetch",
    "fsdp_state_dict_type",
    "fsdp_sync_module_states",
    "fsdp_use_orig_params",
    "fsdp_transformer_layer_cls_to_wrap",
    "fsdp_version",
    "fsdp_reshard_after_forward",
    "fsdp_sharding_strategy",
    "fsdp_cpu_ram_efficient_loading",
    "fsdp_activation_checkpointing",
    "fsdp_min_num_params",
    "fsdp_limit_all_gathers",
}


def read_fsdp(given: Mapping[str, Any], reading: Reading) -> None:
    """Accelerate's fsdp_config, whose keys the Trainer and axolotl also write without "fsdp_"."""
    section = {
        key if key.startswith("fsdp_") else f"fsdp_{key}": value for key, value in given.items()
    }
    flags = reading.flags
    if str(section.get("fsdp_version", 2)) != "2":
        reading.name("fsdp_version", section["fsdp_version"], "FSDP2 is predicted instead")
    strategy = str(section.get("fsdp_sharding_strategy") or "").upper()
    keeps = strategy in ("SHARD_GRAD_OP", "2") or section.get("fsdp_reshard_after_forward") in (
        False,
        "SHARD_GRAD_OP",
    )
    if keeps:
        flags["reshard_after_forward"] = False
    if strategy in ("NO_SHARD", "3", "HYBRID_SHARD", "4", "HYBRID_SHARD_ZERO2", "5"):
        raise bad_input(
            f"fsdp_sharding_strategy: '{strategy}' is not predicted; FULL_SHARD or SHARD_GRAD_OP"
        )
    if section.get("fsdp_activation_checkpointing"):
        flags["gradient_checkpointing"] = True
    for key, value in section.items():
        if key not in _FSDP_NEUTRAL and not _no(value):
            reading.name(key, value)


def read_accelerate(given: Any, reading: Reading) -> None:
    """What `accelerate config` writes."""
    values = _mapping(given, "accelerate")
    flags = reading.flags
    kind = str(values.get("distributed_type") or "NO").upper()
    processes = values.get("num_processes")
    if kind == "DEEPSPEED" or values.get("deepspeed_config"):
        flags["deepspeed"] = True  # refused, with what is nearest
        return
    if kind not in ("NO", "MULTI_GPU", "FSDP"):
        raise bad_input(f"distributed_type: '{kind}' is not predicted; NO, MULTI_GPU or FSDP")
    if kind != "NO" and processes is not None:
        flags["num_processes"] = processes
    precision = values.get("mixed_precision")
    if not _no(precision) and precision not in ("bf16", "fp16"):
        raise bad_input(f"mixed_precision: '{precision}' is not predicted; bf16, fp16 or no")
    if not _no(precision) and not {"bf16", "fp16"} & flags.keys():  # a Trainer's say so, too
        flags["autocast"] = precision
    if values.get("gradient_accumulation_steps") is not None:
        flags["gradient_accumulation_steps"] = values["gradient_accumulation_steps"]
    if kind == "FSDP":
        flags["use_fsdp"] = True
        read_fsdp(_section(values, "fsdp_config"), reading)
    if values.get("num_machines") not in (None, 1):
        reading.name("num_machines", values["num_machines"], "predicted as GPUs of one machine")
    for key, value in values.items():
        if key not in _ACCELERATE_NEUTRAL and not _no(value):
            reading.name(key, value)


#: axolotl's keys that are flags by another name.
_AXOLOTL_FLAGS = {
    "sequence_len": "seq",
    "micro_batch_size": "batch",
    "gradient_accumulation_steps": "accumulate",
    "optimizer": "optim",
    "gradient_checkpointing_kwargs": "gradient_checkpointing_kwargs",
}
#: What memory may depend on: named where it is set. Others say what is trained on and reported.
_AXOLOTL_NAMED = {
    "sample_packing": "rows are predicted full, of sequence_len tokens each",
    "flash_attention": "scaled dot product attention is predicted instead",
    "xformers_attention": "scaled dot product attention is predicted instead",
    "flex_attention": "scaled dot product attention is predicted instead",
    "s2_attention": "not part of the prediction",
    "unsloth_lora_mlp": "not part of the prediction",
    "lora_mlp_kernel": "not part of the prediction",
    "lora_qkv_kernel": "not part of the prediction",
    "lora_o_kernel": "not part of the prediction",
    "lora_modules_to_save": "not part of the prediction",
    "lora_fan_in_fan_out": "not part of the prediction",
    "peft_use_dora": "not part of the prediction",
    "torch_compile": "not part of the prediction",
    "liger_cross_entropy": "not part of the prediction",
    "liger_fused_linear_cross_entropy": "not part of the prediction",
    "liger_rms_norm": "not part of the prediction",
    "liger_layer_norm": "not part of the prediction",
    "liger_glu_activation": "not part of the prediction",
    "liger_swiglu": "not part of the prediction",
    "liger_rope": "not part of the prediction",
    "cut_cross_entropy": "not part of the prediction",
    "cut_cross_entropy_accum_c_fp32": "not part of the prediction",
    "activation_offloading": "not part of the prediction",
    "unfrozen_parameters": "not part of the prediction",
    "tensor_parallel_size": "not part of the prediction",
    "context_parallel_size": "not part of the prediction",
    "sequence_parallel_degree": "not part of the prediction",
    "rl": "the reference model and its losses are not predicted",
    "special_tokens": "rows added to the embedding are not part of the prediction",
    "tokens": "rows added to the embedding are not part of the prediction",
    "eval_sample_packing": "evaluation is not predicted",
    "val_set_size": "evaluation is not predicted",
}


def _read_axolotl_precision(values: Mapping[str, Any], reading: Reading) -> None:
    """axolotl loads weights in the type that it trains in; bf16: true is autocast beside that."""
    for name, whole in (("bf16", "bfloat16"), ("fp16", "float16")):
        asked = values.get(name)
        if _no(asked) and _no(values.get(whole)):
            continue
        if name == "bf16" or not _no(values.get(whole)):
            reading.flags["precision"] = name
        elif name == "fp16":
            reading.flags["precision"] = "fp16"
        if not _no(asked) and asked != "full":
            reading.train_in(name)
        return


def _read_axolotl_adapter(values: Mapping[str, Any], reading: Reading) -> None:
    """LoRA, and what the weights beside it are stored in."""
    flags = reading.flags
    adapter = values.get("adapter")
    if adapter in ("lora", "qlora"):
        flags["lora"] = values.get("lora_r", 8)
        if values.get("lora_target_linear"):
            flags["lora_targets"] = "all-linear"
        elif values.get("lora_target_modules"):
            flags["lora_targets"] = values["lora_target_modules"]
        if not _no(values.get("lora_dropout")):
            flags["lora_dropout"] = values["lora_dropout"]
    elif not _no(adapter):
        raise bad_input(f"adapter: '{adapter}' is not predicted; lora, qlora or none")
    if values.get("load_in_8bit"):
        flags["load_in_8bit"] = True
    if values.get("load_in_4bit") or adapter == "qlora":
        flags.update(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)
        flags["bnb_4bit_compute_dtype"] = "bf16" if not _no(values.get("bf16")) else "fp16"


def _read_axolotl_plugins(values: Mapping[str, Any], reading: Reading) -> Mapping[str, Any]:
    """Two of them do no more than what keys of their own ask for; of one the key is on by default.
    Returns the keys with that."""
    plugins = values.get("plugins") or []
    plugins = plugins if isinstance(plugins, (list, tuple)) else [plugins]
    of_keys = ("LigerPlugin", "CutCrossEntropyPlugin")
    others = [name for name in plugins if not str(name).endswith(of_keys)]
    if others:
        reading.name("plugins", others)
    cuts = any(str(name).endswith("CutCrossEntropyPlugin") for name in plugins)
    return {"cut_cross_entropy": cuts, **values}


def _evaluates_more(values: Mapping[str, Any]) -> bool:
    """Whether an evaluation is of more rows than a step."""
    rows, trained = values.get("eval_batch_size"), values.get("micro_batch_size", 1)
    if _no(rows) or _no(values.get("val_set_size")):
        return False
    return not (isinstance(rows, int) and isinstance(trained, int) and rows <= trained)


def read_axolotl(given: Any, reading: Reading) -> None:
    """axolotl's config.yaml."""
    values = _mapping(given, "axolotl")
    flags = reading.flags
    flags["train"] = True
    flags["loss_only"] = True  # by transformers' Trainer
    if not isinstance(values.get("base_model"), str):
        raise bad_input("base_model: missing; axolotl's name of the model")
    flags["model"] = values["base_model"]
    for theirs, own in _AXOLOTL_FLAGS.items():
        if values.get(theirs) is not None:
            flags[own] = values[theirs]
    checkpointing = values.get("gradient_checkpointing")
    if not _no(checkpointing):
        flags["gradient_checkpointing"] = True
        if checkpointing is not True:
            reading.name("gradient_checkpointing", checkpointing, "predicted without offloading")
    _read_axolotl_adapter(values, reading)
    _read_axolotl_precision(values, reading)
    if not _no(values.get("deepspeed")):
        flags["deepspeed"] = True
    if not _no(values.get("fsdp")) or not _no(values.get("fsdp_config")):
        flags["use_fsdp"] = True
        read_fsdp(_section(values, "fsdp_config"), reading)
    values = _read_axolotl_plugins(values, reading)
    if _evaluates_more(values):
        reading.name("eval_batch_size", values["eval_batch_size"], "evaluation is not predicted")
    for key, why in _AXOLOTL_NAMED.items():
        if not _no(values.get(key)):
            reading.name(key, values[key], why)
