"""Small models of a type: its default config with fewer layers, narrower, with a smaller vocabulary
and fewer experts. What defines the architecture stays: kinds of layers, shared key and value heads,
experts, latent attention, states."""

import dataclasses
import json
from pathlib import Path

from transformers import PreTrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

SIZES = json.loads((Path(__file__).parent / "sizes.json").read_text())
LAYERS = (
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers", "encoder_layers",
)  # fmt: skip
KINDS = ("layer_types", "layers_block_type")


def small(kind):
    """A config.json as it would stand on the Hub, of two layers or as many as have every kind of
    layer there is."""
    return json.loads(_small(CONFIG_MAPPING[kind], SIZES["of"].get(kind, {})).to_json_string())


def precision(kind):
    """bf16, where a type's code does not mix others in."""
    return "fp32" if kind in SIZES["in fp32"] else "bf16"


def _small(config_class, own):
    default = config_class()
    default.allow_global_per_layer_attribute_access = True
    names = {field.name for field in dataclasses.fields(config_class)}
    changed = {}
    for name in names & SIZES["all"].keys():
        value = getattr(default, name, None)
        if type(value) is int or (value is None and name in SIZES["never none"]):
            changed[name] = min(value or SIZES["all"][name], SIZES["all"][name])
    if "kv_lora_rank" in names:  # latent attention has no groups of heads
        changed["num_key_value_heads"] = SIZES["all"]["num_attention_heads"]
    changed |= _layers(default, names, own.get("num_hidden_layers", 0))
    changed |= own
    for name in config_class.sub_configs:
        part = getattr(default, name, None)
        if isinstance(part, PreTrainedConfig):
            changed[name] = _small(type(part), own.get(name, {}))
    changed |= _tokens(default, names, changed.get("vocab_size"))
    return config_class(**changed)


def _layers(default, names, least):
    name = next((name for name in KINDS if name in names), "")
    kinds = getattr(default, name, None) or []
    needed = max((kinds.index(kind) + 1 for kind in set(kinds)), default=2)
    count = max(2, needed, least)
    changed = dict.fromkeys(names.intersection(LAYERS), count)
    if kinds:
        changed[name] = kinds[:count]
    return changed


def _tokens(default, names, words):
    """Those that have a meaning are of the vocabulary."""
    changed = {}
    for name in names:
        value = getattr(default, name, None)
        if words and name.endswith(("_token_id", "_token_index")) and type(value) is int:
            changed[name] = min(value, words - 1)
        elif words and name.endswith("_token_id") and isinstance(value, list):
            changed[name] = [min(each, words - 1) for each in value]
    return changed
