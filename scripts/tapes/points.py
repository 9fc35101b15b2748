"""Sizes at which a type's code is traced: small, and so that they can be told apart."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "breadth"))
from flags import shipped_flags
from small import small
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from variants import given_to


class HeadsAre(Enum):
    """How heads and the hidden size hang together."""

    FREE = 1  # heads have a dimension of their own
    PARTS = 2  # of the hidden size
    POWERS = 3  # parts, and as many as a power of two
    LONG = 4  # free, of sequences whose code goes by parts


_PART = 64  # tokens that such code takes at a time
# Heads, of keys and values, and their dimension; a hidden size that is no product of them.
_HEADS = ((4, 2, 64, 320), (6, 3, 32, 240), (8, 2, 48, 448), (10, 5, 16, 480))
_POWERS = ((4, 2, 64, 0), (8, 2, 32, 0), (16, 4, 48, 0), (32, 16, 16, 0))
_BATCH = ((2, 64), (3, 80), (5, 48), (7, 56))
_LONG = ((2, 330), (3, 400), (5, 290), (7, 460))  # so that loops over 64 tokens each go round
_SIZES = {
    "vocab_size": (1024, 1280, 1152, 1408),
    "max_position_embeddings": (512, 576, 640, 704),
    "max_seq_len": (512, 576, 640, 704),
    "intermediate_size": (512, 640, 1088, 704),
    "moe_intermediate_size": (192, 416, 352, 608),
    "shared_expert_intermediate_size": (544, 736, 832, 928),
    "shared_intermediate_size": (544, 736, 832, 928),
    "intermediate_size_mlp": (480, 672, 1120, 768),
    "ffn_dim": (512, 640, 1088, 704),
    "ffn_hidden_size": (512, 640, 1088, 704),
    "expert_ffn_hidden_size": (192, 416, 352, 608),
    "num_experts": (8, 24, 16, 40),
    "num_local_experts": (8, 24, 16, 40),
    "n_routed_experts": (8, 24, 16, 40),
    "moe_num_experts": (8, 24, 16, 40),
    "num_experts_per_tok": (2, 4, 3, 5),
    "moe_topk": (2, 4, 3, 5),
    "num_shared_experts": (1, 2, 3, 2),
    "n_shared_experts": (1, 2, 3, 2),
    "moe_num_shared_experts": (1, 2, 3, 2),
    "zero_expert_num": (3, 5, 6, 7),
    "n_group": (4, 2, 8, 10),
    "topk_group": (2, 1, 3, 4),
    "first_k_dense_replace": (1, 1, 1, 1),
    "moe_layer_start_index": (2, 2, 2, 2),
    "rotary_dim": (16, 24, 12, 8),
    "v_head_dim": (48, 88, 64, 36),
    "lru_width": (352, 288, 416, 480),
    "linear_key_head_dim": (24, 56, 40, 72),
    "linear_value_head_dim": (48, 88, 104, 80),
    "linear_num_key_heads": (3, 2, 4, 6),
    "linear_num_value_heads": (6, 10, 8, 18),
    "linear_conv_kernel_dim": (4, 3, 6, 5),
    "conv_L_cache": (4, 3, 6, 5),
    "hidden_size_per_layer_input": (24, 40, 56, 88),
    "vocab_size_per_layer_input": (896, 1216, 1088, 1344),
    "global_head_dim": (272, 320, 288, 352),  # more than attention takes with grouped heads
    "num_global_key_value_heads": (1, 2, 4, 2),
    "laurel_rank": (12, 20, 28, 36),
}
# Of layers that see all, what a class has for each of them: its file's key.
GLOBAL = {"head_dim": "global_head_dim", "num_key_value_heads": "num_global_key_value_heads"}
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


@dataclass(frozen=True)
class Sizes:
    """Whole numbers that configs are given, by the names that most types have for them."""

    heads: int
    groups: int  # heads of keys and values
    dim: int  # a head's
    hidden: int  # where heads have a dimension of their own; heads · dim otherwise
    own: Mapping[str, int]
    latent: Mapping[str, int]  # of types whose attention is latent, in place of own's
    windows: Mapping[str, int]


LAST_LAYER = "moe_layer_end_index"  # behind which others would be
KINDS = ("layer_types", "mlp_layer_types", "layers_block_type")
_PERIODS = ("interval", "pattern", "period", "step", "freq")
_LONGEST = 9  # layers after which kinds repeat
_FEW = 16  # parts that solve.py tries
COUNT = len(_HEADS)


def config_at(name, point, layers, heads_are=HeadsAre.FREE, beyond=False):
    """A config of that tape's type, as its file. `beyond`: with a window that is shorter than the
    sequence."""
    sizes = Sizes(
        *(_POWERS if heads_are is HeadsAre.POWERS else _HEADS)[point],
        own={key: values[point] for key, values in _SIZES.items()},
        latent={key: values[point] for key, values in _LATENT.items()},
        windows={key: values[beyond][point] for key, values in _WINDOWS.items()},
    )
    return config_of(name, sizes, layers, heads_are, lambda values: values[point])


def config_of(name, given, layers, heads_are, choose):
    """A config of that tape's type and those sizes, as its file. `choose`: of several values that
    its variant has for a key."""
    kind = name.partition(".")[0]
    config = small(kind)
    if config.pop("per_layer_config", None):  # which its class makes of what its file has
        config |= {key: given.own[key] for key in GLOBAL.values()}
    head_dim = heads_are in (HeadsAre.FREE, HeadsAre.LONG)
    names = CONFIG_MAPPING[kind].attribute_map
    sizes = {
        "num_attention_heads": given.heads,
        "num_key_value_heads": given.groups,
        "num_kv_heads": given.groups,
        "hidden_size": given.hidden if head_dim else given.heads * given.dim,
        **given.own,
        **given.windows,
    }
    if "kv_lora_rank" in config:  # latent attention: its heads have dimensions of their own
        config.pop("head_dim", None)
        if _is_of_rope(kind):
            config["head_dim"] = given.latent["qk_rope_head_dim"]
        sizes |= given.latent
        sizes["num_key_value_heads"] = given.heads
    elif "head_dim" in config or (head_dim and _may_have(kind, "head_dim")):
        config[names.get("head_dim", "head_dim")] = given.dim
    sizes = {names.get(key, key): size for key, size in sizes.items()}
    for key in _derived(kind, sizes):
        config.pop(key, None)
    config |= {key: size for key, size in sizes.items() if _is_size(config.get(key))}
    config |= shipped_flags(kind)
    _give_layers(config, layers, names.get("num_hidden_layers", "num_hidden_layers"))
    config |= given_to(name, choose)
    return _with_floats(json.loads(json.dumps(config)))  # a copy


def _is_size(value):
    """Of all layers, or said of each."""
    values = value if isinstance(value, list) else [value]
    return {type(each) for each in values} == {int}


def _is_of_rope(kind):
    """Whether the class takes a head's dimension for the part of it that is rotated."""
    usual = CONFIG_MAPPING[kind]().to_dict()
    return usual.get("head_dim") == usual.get("qk_rope_head_dim")


def _may_have(kind, key):
    return not isinstance(getattr(CONFIG_MAPPING[kind], key, None), property)


def _derived(kind, sizes):
    """Whole numbers that the class makes of others, where a config leaves them out."""
    usual = CONFIG_MAPPING[kind]().to_dict()
    given = {key: size for key, size in sizes.items() if type(usual.get(key)) is int}
    for more in (given, given.keys() & {"hidden_size", "n_embd", "d_model"}):
        try:
            made = CONFIG_MAPPING[kind](**{key: given[key] for key in more}).to_dict()
        except Exception:  # whatever it is that a class makes of such sizes
            continue
        return [
            key
            for key, value in made.items()
            if type(value) is int and key not in sizes and value != usual.get(key)
        ]
    return []


def _give_layers(config, layers, count):
    """So many at least, and all kinds of them; `count`: the key that says how many."""
    usual = config.get(count, 0)
    periods = [
        value + 1
        for key, value in config.items()
        if type(value) is int and 1 < value < _LONGEST and key.endswith(_PERIODS)
    ]
    behind = [value + 2 for key, value in config.items() if key.endswith("layer_start_index")]
    layers = max(layers, usual + 1, *periods, *behind)
    for key, value in list(config.items()):
        if not isinstance(value, list) or len(value) != usual or not usual:
            continue
        if key in KINDS:
            config[key] = (value * layers)[:layers]
        else:  # its class makes one of as many layers as there are
            del config[key]
    config.pop(LAST_LAYER, None)  # the last
    if "attention_types" in config:  # the two kinds in turn
        layers += layers % 2
        config["attention_types"] = [[["global", "local"], layers // 2]]
    if usual:
        config[count] = layers


def _with_floats(value):
    """As to_json_string has what JSON has not."""
    if isinstance(value, dict):
        if value.keys() == {"__float__"}:
            return float(value["__float__"])
        return {key: _with_floats(each) for key, each in value.items()}
    return [_with_floats(each) for each in value] if isinstance(value, list) else value


def inputs_at(point, heads_are):
    """A batch and a length."""
    return (_LONG if heads_are is HeadsAre.LONG else _BATCH)[point]


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
    for key, value in config.to_dict().items():  # of each layer, and the same
        if isinstance(value, list) and len(value) == getattr(config, "num_hidden_layers", 0):
            named |= {key: value[0]} if type(value[0]) is int and len(set(value)) == 1 else {}
    for own in (config.to_dict().get("per_layer_config") or {}).values():
        named |= {GLOBAL[key]: value for key, value in own.items() if key in GLOBAL}
    if (key := "use_double_wide_mlp") in config.to_dict():
        named[f"(1+{key})"] = 1 + getattr(config, key)
    named |= inputs
    return {**named, **_rounded(named), **_rotated(config, named)}


def rotary_fractions(config):
    """Parts of a head that are rotated, of all layers or by their kinds."""
    rope = config.to_dict().get("rope_parameters") or {}
    of_kinds = [each for each in rope.values() if isinstance(each, dict)]
    found = {each.get("partial_rotary_factor") for each in [rope, *of_kinds]}
    return sorted(each for each in found if isinstance(each, float))


def _rotated(config, named):
    """Sizes of such parts, where a fraction is none of a few parts."""
    more = {}
    for part in map(str, rotary_fractions(config)):
        over, under = Fraction(part).as_integer_ratio()
        if under > _FEW and "head_dim" in named:
            size = named["head_dim"] * over // under
            more[f"(head_dim*{over}/{under})"] = size
            more[f"((head_dim*{over}/{under}+1)/2)"] = (size + 1) // 2  # pairs
    return more


def _rounded(named):
    """Sizes that code rounds up, and heads that have no key of their own, by what they are."""
    more = {}
    tokens = named.get("S", 1)
    if tokens > _PART:
        parts = -(-tokens // _PART)
        more[f"((S+{_PART - 1})/{_PART})"] = parts
        more[f"((S+{_PART - 1})/{_PART}*{_PART})"] = parts * _PART
    if "head_dim" not in named and {"hidden_size", "num_attention_heads"} <= named.keys():
        heads = named["hidden_size"] // named["num_attention_heads"]
        more["(hidden_size/num_attention_heads)"] = heads
    for key, value in named.items():
        if key.endswith("chunk_size") and "S" in named:
            more[f"((S+{key}-1)/{key})"] = -(-tokens // value)
            more[f"((S+{key}-1)/{key}*{key})"] = -(-tokens // value) * value
        if key.endswith("multiple_of") and "intermediate_size" in named:
            wide = 2 * named["intermediate_size"] // 3
            more[f"((2*intermediate_size/3+{key}-1)/{key}*{key})"] = -(-wide // value) * value
    return more
