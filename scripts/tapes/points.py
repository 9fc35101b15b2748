"""Sizes at which a type's code is traced: small, and so that they can be told apart."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "breadth"))
from flags import shipped_flags
from small import small

# Heads, of keys and values, and their dimension; a hidden size that is no product of them.
_HEADS = ((4, 2, 64, 320), (6, 3, 32, 240), (8, 2, 48, 448), (10, 5, 16, 280))
_BATCH = ((2, 64), (3, 80), (5, 48), (7, 56))
_SIZES = {
    "vocab_size": (1024, 1280, 1152, 1408),
    "intermediate_size": (512, 640, 1088, 704),
    "moe_intermediate_size": (192, 416, 352, 608),
    "shared_expert_intermediate_size": (544, 736, 832, 928),
    "num_experts": (8, 24, 16, 40),
    "num_local_experts": (8, 24, 16, 40),
    "n_routed_experts": (8, 24, 16, 40),
    "num_experts_per_tok": (2, 3, 4, 5),
}
_LATENT = {
    "q_lora_rank": (96, 112, 144, 176),
    "kv_lora_rank": (32, 48, 80, 160),
    "qk_rope_head_dim": (16, 32, 8, 24),
    "qk_nope_head_dim": (40, 56, 72, 104),
    "v_head_dim": (48, 88, 64, 36),
}
# Of keys that say how far attention sees: more than any length here, and less.
_WINDOWS = {
    "sliding_window": ((128, 160, 96, 144), (24, 36, 20, 28)),
    "attention_chunk_size": ((128, 160, 96, 144), (24, 36, 20, 28)),
}
KINDS = ("layer_types", "mlp_layer_types", "layers_block_type")
_PERIODS = ("interval", "pattern", "period", "step", "freq")
_LONGEST = 9  # layers after which kinds repeat
COUNT = len(_HEADS)


def config_at(kind, point, layers, head_dim=True, beyond=False):
    """A config of that type, as its file. `head_dim`: with one of its own, which is not what the
    others make. `beyond`: with a window that is shorter than the sequence."""
    config = small(kind)
    heads, groups, dim, hidden = _HEADS[point]
    sizes = {
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "hidden_size": hidden if head_dim else heads * dim,
        **{key: values[point] for key, values in _SIZES.items()},
        **{key: values[beyond][point] for key, values in _WINDOWS.items()},
    }
    if "kv_lora_rank" in config:  # latent attention: its heads have dimensions of their own
        config.pop("head_dim", None)
        sizes |= {key: values[point] for key, values in _LATENT.items()}
        sizes["num_key_value_heads"] = heads
    elif head_dim:
        config["head_dim"] = dim
    config |= {key: size for key, size in sizes.items() if type(config.get(key)) is int}
    config |= shipped_flags(kind)
    _give_layers(config, layers)
    return _with_floats(json.loads(json.dumps(config)))  # a copy


def _give_layers(config, layers):
    """So many at least, and all kinds of them."""
    usual = config.get("num_hidden_layers", 0)
    periods = [
        value + 1
        for key, value in config.items()
        if type(value) is int and 1 < value < _LONGEST and key.endswith(_PERIODS)
    ]
    layers = max(layers, usual + 1, *periods)
    for key, value in list(config.items()):
        if not isinstance(value, list) or len(value) != usual or not usual:
            continue
        if key in KINDS:
            config[key] = (value * layers)[:layers]
        elif key == "intermediate_size":
            config[key] = value[0]
        else:  # its class makes one of as many layers as there are
            del config[key]
    if usual:
        config["num_hidden_layers"] = layers


def _with_floats(value):
    """As to_json_string has what JSON has not."""
    if isinstance(value, dict):
        if value.keys() == {"__float__"}:
            return float(value["__float__"])
        return {key: _with_floats(each) for key, each in value.items()}
    return [_with_floats(each) for each in value] if isinstance(value, list) else value


def inputs_at(point):
    """A batch and a length."""
    return _BATCH[point]


def windows_of(config):
    """Keys that say how far it sees."""
    config.allow_global_per_layer_attribute_access = True
    return [key for key in _WINDOWS if getattr(config, key, None)]


def symbols(config, inputs):
    """Whole numbers that sizes may hang on."""
    config.allow_global_per_layer_attribute_access = True
    named = {
        key: value
        for key, value in config.to_dict().items()
        if type(value) is int and value > 0 and not key.endswith(("token_id", "index"))
    }
    return {**named, **inputs}
