"""Draws starts of vLLM: a model cut to a few layers, a card, an engine's arguments."""

import json
from pathlib import Path

from vllm_questions.drafts import deep_enough, drafted

_DATA = Path(__file__).resolve().parents[2] / "data"
_PUBLISHED = _DATA / "reference" / "vllm" / "published.jsonl"  # shapes, cut already
CARDS = ("rtx4090", "l40s", "a100-80gb", "h100-80gb", "h200")
_LATER = ("l40s", "h100-80gb", "h200")  # of 45 GB or more, whose kernels multiply in fp8
_SEEING = {"gemma3-4b", "gemma4-e2b", "ministral3-8b"}
_LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768, 131072)
_RECURRENT = {"qwen3_next", "granitemoehybrid", "falcon_h1", "lfm2"}
# Of which there are few among many: states, and layers that predict.
_OFTEN = _RECURRENT | {"deepseek_v3", "glm4_moe", "qwen3_moe"}
_AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
_GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
# Which modules are stored so, by parts of their names; vLLM would look it up in files otherwise.
_GPTQ["modules_in_block_to_quantize"] = [["attn", "attention", "mlp"]]


def models():
    """Configs by the names of their folders."""
    files = sorted(_DATA.glob("*models/*/config.json"))
    ours = {file.parent.name: json.loads(file.read_text()) for file in files}
    rows = map(json.loads, _PUBLISHED.read_text().splitlines())
    theirs = {row["name"]: row["config"] for row in rows if "vision_config" not in row["config"]}
    return {name: config for name, config in (theirs | ours).items() if name not in _SEEING}


def question(card, dice):
    """`{"name": …, "gpu": …, "config": …, "engine": …}`"""
    every = models()
    often = [name for name, config in every.items() if config["model_type"] in _OFTEN]
    name = dice.choice(sorted(every) if dice.random() < 0.6 else often)
    config = _cut(every[name], dice.choice((2, 3, 4, 6, 8)))
    engine = {"enforce_eager": dice.random() < 0.94, "dtype": "bfloat16"}
    engine |= _sizes(config, dice)
    engine |= _types(card, config, dice)
    engine |= _states(config, dice)
    asked = {"name": name, "gpu": card, "config": config, "engine": engine}
    features, draft = _features(config, dice)
    engine |= features
    engine |= _ranks(config, features, dice)
    return asked if draft is None else asked | {"draft": draft}


def _cut(config, layers):
    config = json.loads(json.dumps(config))
    for key in ("num_hidden_layers", "n_layer"):
        if key in config:
            config[key] = min(layers, config[key])
    if "first_k_dense_replace" in config:  # classes of mixtures want one
        config["first_k_dense_replace"] = min(config["first_k_dense_replace"], layers - 1)
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:layers]
    config.pop("max_window_layers", None)
    return config


def _sizes(config, dice):
    most = config.get("max_position_embeddings", config.get("n_positions", 2048))
    sizes = {"max_model_len": dice.choice([size for size in _LENGTHS if size <= most])}
    share = dice.uniform(0.02, 0.3) if dice.random() < 0.4 else dice.uniform(0.3, 0.95)
    if dice.random() < 0.1:
        sizes["kv_cache_memory_bytes"] = dice.randint(1, 64) << 26
    else:
        sizes["gpu_memory_utilization"] = round(share, 3)
    if dice.random() < 0.85:
        sizes["max_num_seqs"] = dice.choice((16, 64, 100, 128, 256, 512))
    if dice.random() < 0.85:
        sizes["max_num_batched_tokens"] = dice.choice((2048, 3000, 4096, 8192, 16384))
    if dice.random() < 0.1:
        sizes["max_model_len"] = -1
    if dice.random() < 0.15:
        sizes["block_size"] = 32
    return sizes


def _types(card, config, dice):
    """Of weights and cache."""
    if "quantization_config" in config:
        return {}
    many = "num_experts_per_tok" in config
    draw = dice.random()
    types = {}
    if draw < 0.1:
        types = {"dtype": "float32"}
    elif draw < 0.15:
        types = {"dtype": "float16"}
    elif draw < 0.3 and not many:
        recurrent = config["model_type"] in _RECURRENT  # whose modules have other names
        config["quantization_config"] = _AWQ if recurrent else dice.choice((_AWQ, _GPTQ))
        types = {"dtype": "float16"}
    elif draw < 0.45 and not many:
        # Ampere's kernels for what is stored in fp8 are a package that this need not have.
        bits = 4 if card == "a100-80gb" else dice.choice((8, 4))
        config["quantization_config"] = _compressed(bits)
    elif draw < 0.5 and card in _LATER:
        types = {"quantization": "fp8"}
    elif draw < 0.65 and card != "a100-80gb":
        types = {"kv_cache_dtype": "fp8"}
    return types


def _states(config, dice):
    """Types of what layers keep that have no cache of tokens."""
    if config["model_type"] not in _RECURRENT or dice.random() < 0.6:
        return {}
    key = dice.choice(("mamba_cache_dtype", "mamba_ssm_cache_dtype"))
    return {key: "float32"}


def _compressed(bits):
    """llm-compressor's: FP8 with scales of rows, its activations' as they come; W4A16."""
    kind = "float" if bits == 8 else "int"
    weights = {"num_bits": bits, "type": kind, "symmetric": True, "dynamic": False}
    weights |= {"strategy": "channel"} if bits == 8 else {"strategy": "group", "group_size": 128}
    inputs = {"num_bits": 8, "type": "float", "symmetric": True, "dynamic": True}
    inputs |= {"strategy": "token"}
    group = {
        "targets": ["Linear"],
        "weights": weights,
        "input_activations": inputs if bits == 8 else None,
    }
    return {
        "quant_method": "compressed-tensors",
        "format": "float-quantized" if bits == 8 else "pack-quantized",
        "quantization_status": "compressed",
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
    }


def _ranks(config, features, dice):
    """Two GPUs that share layers, of a mixture its experts whole now and then."""
    heads = config.get("num_attention_heads", config.get("n_head", 1))
    odd = heads % 2 or config.get("model_type") in {"gpt2", "falcon"}
    if odd or "speculative_config" in features or dice.random() < 0.85:
        return {}
    whole = "num_experts_per_tok" in config and dice.random() < 0.5
    return {"tensor_parallel_size": 2} | ({"enable_expert_parallel": True} if whole else {})


def _features(config, dice):
    """Of the engine, and the config of what drafts, where there is such."""
    draw = dice.random()
    if draw < 0.1:
        slots = {"max_loras": dice.choice((1, 2, 4)), "max_lora_rank": dice.choice((8, 16, 32, 64))}
        return {"enable_lora": True, **slots}, None
    if draw < 0.15:
        return {"cpu_offload_gb": dice.choice((1, 2, 4))}, None
    if draw < 0.4 and "num_attention_heads" in config:
        drafts, draft = drafted(config, dice)
        if drafts["method"] == "eagle3":
            deep_enough(config)
        return {"speculative_config": drafts}, draft
    return {}, None
