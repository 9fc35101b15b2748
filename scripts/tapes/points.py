"""Sizes at which a type's code is traced: small, and so that they can be told apart."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "breadth"))
from small import small

# Heads, of keys and values, and their dimension; a hidden size that is no product of them.
_HEADS = ((4, 2, 64, 320), (6, 3, 32, 240), (8, 2, 48, 448), (10, 5, 16, 280))
_BATCH = ((2, 64), (3, 80), (5, 48), (7, 56))
_SIZES = {
    "vocab_size": (1024, 1280, 1152, 1408),
    "intermediate_size": (512, 640, 1088, 704),
    "moe_intermediate_size": (192, 416, 352, 608),
    "shared_expert_intermediate_size": (544, 736, 832, 928),
    "num_experts": (8, 12, 16, 20),
    "num_local_experts": (8, 12, 16, 20),
    "n_routed_experts": (8, 12, 16, 20),
    "num_experts_per_tok": (2, 3, 4, 5),
}
COUNT = len(_HEADS)


def config_at(kind, point, layers):
    """A config of that type, as its file."""
    config = small(kind)
    heads, groups, dim, hidden = _HEADS[point]
    if "num_attention_heads" in config:
        config["num_attention_heads"] = heads
    if config.get("num_key_value_heads"):
        config["num_key_value_heads"] = groups
    if config.get("head_dim"):
        config["head_dim"] = dim
        config["hidden_size"] = hidden
    elif "hidden_size" in config:
        config["hidden_size"] = heads * dim
    for key, sizes in _SIZES.items():
        if type(config.get(key)) is int:
            config[key] = sizes[point]
    if "num_hidden_layers" in config:
        config["num_hidden_layers"] = layers
    for key in ("layer_types", "mlp_layer_types"):
        if config.get(key):
            config[key] = (config[key] * layers)[:layers]
    return json.loads(json.dumps(config))  # a copy


def inputs_at(point):
    """A batch and a length."""
    return _BATCH[point]


def symbols(config, batch, seq):
    """Whole numbers that sizes may hang on."""
    named = {
        key: value
        for key, value in config.to_dict().items()
        if type(value) is int and value > 0 and not key.endswith(("token_id", "index"))
    }
    return {**named, "B": batch, "S": seq}
