"""Types whose code does other things by numbers that configs have: a tape of each way."""

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

_NULL = "no_"
# What configs are given: a value, or one at each size. The way without a name is a type's own tape;
# the others are asked for first.
_AS_MANY = {
    "linear_num_key_heads": (6, 10, 8, 18),
    "linear_num_value_heads": (6, 10, 8, 18),
}
_TWO = ["sliding_attention", "full_attention"]
_ALTERNATING = {
    "num_hidden_layers": 6,
    "layer_types": _TWO * 3,
    "final_logit_softcapping": 30.0,
}
# Of types whose sizes hang on how many layers there are.
_COUNTED = {
    "num_hidden_layers": (8, 12, 10, 14),
    "layer_types": (_TWO * 4, _TWO * 6, _TWO * 5, _TWO * 7),
}
# As many that are not sparse, of which two share keys and values.
_DENSE = 6
_SPARSE = (4, 8, 6, 10)
_SPARSE_FIRST = {
    "num_hidden_layers": tuple(count + _DENSE for count in _SPARSE),
    "layer_types": tuple(_TWO * ((count + _DENSE) // 2) for count in _SPARSE),
    "activation_sparsity_pattern": tuple([0.95] * count + [0.0] * _DENSE for count in _SPARSE),
    "num_kv_shared_layers": 2,
    "final_logit_softcapping": 30.0,
}
_WITHOUT_INPUTS = {
    **_ALTERNATING,
    "hidden_size_per_layer_input": 0,
    "num_kv_shared_layers": 0,
    "attention_k_eq_v": True,
    "use_bidirectional_attention": "vision",
}
_VARIANTS = {
    "gemma3n_text": {"": _SPARSE_FIRST},
    # As Phi-3.5-MoE is published.
    "phimoe": {
        "with_biases": {"attention_bias": True, "lm_head_bias": True, "input_jitter_noise": 0.01}
    },
    "qwen3_next": {"as_many_heads": _AS_MANY},
    "qwen3_5_text": {"as_many_heads": _AS_MANY},
    "qwen3_5_moe_text": {"as_many_heads": _AS_MANY},
    "gemma4_text": {
        "": {
            **_ALTERNATING,
            **_COUNTED,
            "num_kv_shared_layers": 2,
            "use_double_wide_mlp": (True, False, True, False),
        },
        "without_inputs": _WITHOUT_INPUTS,
        "with_experts": {
            **_WITHOUT_INPUTS,
            "enable_moe_block": True,
            "num_experts": (8, 24, 16, 40),
            "top_k_experts": (2, 4, 3, 5),
            "moe_intermediate_size": (192, 416, 352, 608),
        },
    },
}
# Of these tapes so many layers are told, which the first ones are like, in turn.
_TOLD = {"gemma4_text": 6, "gemma3n_text": 2 + _DENSE}
# Sizes that people's configs have null, where the code of some types does other things.
_NULLABLE = ("q_lora_rank",)


def variants_of(kind):
    """Names of those that a config is held against before the type's own."""
    return [name for name in _VARIANTS.get(kind, ()) if name]


def names_of(kind):
    """Of all tapes of a type."""
    nulls = [f"{_NULL}{key}" for key in nullable(kind)]
    return [kind, *(f"{kind}.{name}" for name in [*nulls, *variants_of(kind)])]


def given_to(name, choose):
    """What configs of a tape's type are given beside sizes. `choose`: of several values, one."""
    kind, _, variant = name.partition(".")
    if variant.startswith(_NULL):
        return {variant.removeprefix(_NULL): None}
    given = _VARIANTS.get(kind, {}).get(variant, {})
    return {
        key: choose(value) if isinstance(value, tuple) else value for key, value in given.items()
    }


def told_of(name, layers):
    """The last of these layers, where there are more of each kind at some sizes than at others."""
    return layers[-_TOLD.get(name, len(layers)) :]


def whole(names, count):
    """Names of so many layers, of which these are told."""
    return [*(names[: len(_TWO)] * count)[: count - len(names)], *names]


def nullable(kind):
    """Keys of that type which are sizes or null, so that there is a tape of each."""
    usual = CONFIG_MAPPING[kind]().to_dict()
    return [key for key in _NULLABLE if usual.get(key) and "None" in annotation(kind, key)]


def annotation(kind, key):
    """What its class says of a key's type."""
    classes = CONFIG_MAPPING[kind].__mro__
    said = (vars(each).get("__annotations__", {}).get(key) for each in classes)
    return str(next((each for each in said if each is not None), ""))
