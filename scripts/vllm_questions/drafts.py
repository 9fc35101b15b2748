"""Draws what drafts for a model: a head of EAGLE's, its own layers, a smaller model, or ngram."""

# Classes that hand out states of their layers (SupportsEagle3), by model_type.
_HANDS_OUT = {"llama", "qwen2", "qwen3", "qwen3_moe"}
_PREDICTS = {"deepseek_v3", "glm4_moe", "qwen3_next"}
_LEAST = 8  # layers, of which the second, the middle and the last but two differ


def drafted(config, dice):
    """`(speculative_config, the config of what drafts, or None)`; cuts no layers off."""
    methods = ["ngram", "draft_model"]
    methods += ["eagle", "eagle3"] if config["model_type"] in _HANDS_OUT else []
    methods += ["mtp"] * 3 if config["model_type"] in _PREDICTS else []
    method = dice.choice(methods)
    drafts = {"method": method, "num_speculative_tokens": dice.randint(1, 5)}
    if method == "ngram":
        return drafts | {"prompt_lookup_max": 4}, None
    if method == "mtp":
        return drafts, None
    return drafts, _smaller(config, dice) if method == "draft_model" else _head(config, method)


def _head(config, method):
    """Of one of llama's layers, as they are published."""
    head = {
        "architectures": ["LlamaForCausalLM" + ("Eagle3" if method == "eagle3" else "")],
        "model_type": "llama",
        "hidden_size": config["hidden_size"],
        "intermediate_size": 2 * config["hidden_size"],
        "num_hidden_layers": 1,
        "num_attention_heads": config["hidden_size"] // 64,
        "num_key_value_heads": config["hidden_size"] // 64,
        "head_dim": 64,
        "vocab_size": config["vocab_size"],
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
    return head | ({"draft_vocab_size": 32000} if method == "eagle3" else {})


def _smaller(config, dice):
    """A llama of as many words, with heads as the model's: pages of others do not go together."""
    heads = config.get("num_key_value_heads", config["num_attention_heads"])
    size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    head = _head(config, "eagle")
    return head | {
        "hidden_size": heads * size,
        "intermediate_size": 3 * heads * size,
        "num_hidden_layers": dice.choice((1, 2, 4)),
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": size,
        "max_position_embeddings": config.get("max_position_embeddings", 2048),
        "tie_word_embeddings": dice.random() < 0.5,
    }


def deep_enough(config):
    """As many layers as heads of EAGLE-3 want; those of one kind are more of the last."""
    config["num_hidden_layers"] = max(config["num_hidden_layers"], _LEAST)
    return config
