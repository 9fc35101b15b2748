"""Draws questions: a type of model, sizes that its tape was not recorded at, and what is run."""

import json
import re
import sys
from pathlib import Path

_SCRIPTS = Path(__file__).resolve().parents[1]
_DATA = _SCRIPTS.parent / "data"
sys.path += [str(_SCRIPTS / "tapes"), str(_SCRIPTS / "breadth")]

from points import GLOBAL, HeadsAre, Sizes, config_of  # noqa: E402
from transformers import AutoConfig  # noqa: E402

_FAMILIES = _DATA.parent / "runtimes" / "pytorch" / "transformers" / "modules" / "families"
_OF_PARTS = {"gpt2", "gpt_neox", "helium", "phi"}  # whose heads make up the hidden size
_HEAD_DIMS = (32, 48, 64, 64, 80, 96, 128, 128, 208, 256)
_OPTIMIZERS = ("adamw", "adamw-fused", "adamw-loop", "sgd", "sgd-momentum", "adafactor")


def kinds():
    """Types that `fit` answers of: by tapes, by the names of their files, or written down."""
    code = "".join(file.read_text() for file in _FAMILIES.glob("*.cpp"))
    written = re.findall(r'\.model_type = "(\w+)"', code)
    return sorted({*written, *(file.stem for file in (_DATA / "tapes").glob("*.tape"))})


def question(kind, dice):
    """`{"config": …, "asked": …}`: a config's file, and flags of `fit` by their names."""
    tape = _DATA / "tapes" / f"{kind}.tape"
    text = tape.read_text() if tape.exists() else ""
    trains = (bool(text) and "\nprogram prefill" not in text) or dice.random() < 0.6
    batch, seq = dice.randint(1, 6), dice.randint(17, 1100)
    asked = {"batch": batch, "seq": seq}
    asked |= _training(dice, _linears(text)) if trains else _generation(dice)
    longest = seq + asked.get("generate", 0)
    sizes = _sizes(dice, longest, text)
    layers, of_variant = dice.randint(2, 4), dice.randint(0, 3) if "." in kind else 0
    config = config_of(
        kind, sizes, layers, _heads_are(kind, text), lambda values: values[of_variant]
    )
    config["tie_word_embeddings"] = dice.random() < 0.4
    config.pop("qk_head_dim", None)  # the sum of two others
    # As it would stand in a file, with all that the class has.
    file = json.loads(AutoConfig.for_model(**config).to_json_string())
    if file.pop("per_layer_config", None):
        file |= {key: config[key] for key in GLOBAL.values()}
    return {"config": file, "asked": asked}


def _heads_are(kind, tape):
    parts = kind in _OF_PARTS or "hidden_size/num_attention_heads" in tape
    return HeadsAre.PARTS if parts else HeadsAre.FREE


def _linears(tape):
    """The last parts of their names, as LoRA takes them; none where there is no tape."""
    train = tape.partition("\nprogram train\n")[2].partition("\nprogram ")[0]
    found = re.findall(r"linear \S+ @\.(?:\S+\.)?(\S+)\.weight", train)
    left_out = re.findall(r"^(?:no|expert)_targets (.*)", tape, re.MULTILINE)
    others = {name for line in left_out for name in line.split()}
    return [name for name in dict.fromkeys(found) if name not in others]


def _training(dice, linears):
    precision = dice.choice(("bf16", "bf16", "bf16", "fp16", "fp32"))
    asked = {"train": True, "precision": precision, "optimizer": dice.choice(_OPTIMIZERS)}
    if dice.random() < 0.35:
        asked["checkpoint"] = dice.choice(("full", "reentrant"))
    if dice.random() < 0.35:
        asked["lora"] = dice.choice((4, 8, 16, 64))
        some = dice.sample(linears, dice.randint(1, len(linears))) if linears else ["all-linear"]
        asked["lora_targets"] = ",".join(some)
        if precision != "fp32" and dice.random() < 0.3:
            asked["quant"] = dice.choice(("nf4", "fp4"))
    if dice.random() < 0.3:
        asked |= {"autocast": "bf16", "precision": dice.choice(("bf16", "fp32"))}
    if dice.random() < 0.2:
        asked["accumulate"] = dice.randint(2, 3)
    if dice.random() < 0.2:
        asked["loss_only"] = True
    if dice.random() < 0.15:
        asked["attention"] = "eager"
    return asked


def _generation(dice):
    asked = {"precision": dice.choice(("bf16", "bf16", "fp16", "fp32"))}
    asked["generate"] = dice.randint(2, 16)
    if dice.random() < 0.3:
        asked["padded"] = dice.random() < 0.5
    if dice.random() < 0.2:
        asked["attention"] = "eager"
    return asked


def _sizes(dice, longest, tape):
    groups = dice.choice((1, 2, 3, 4, 5, 8))
    heads = groups * dice.choice((1, 2, 3, 4, 7))
    if "power_of_two" in tape:
        heads = 2 ** dice.randint(2, 5)
    experts = 4 * dice.randint(1, 12)
    expert_groups = dice.choice((1, 2))
    wide = [16 * dice.randint(12, 200) for _ in range(6)]
    hidden = heads * 8 * dice.randint(max(2, 128 // (heads * 8)), max(3, 1600 // (heads * 8)))
    dim = dice.choice(_HEAD_DIMS)
    own = {
        "vocab_size": dice.randint(1100, 40000),
        "max_position_embeddings": max(longest, dice.choice((512, 1024, 2048, 4096))),
        "intermediate_size": wide[0],
        "ffn_dim": wide[0],
        "ffn_hidden_size": wide[0],
        "intermediate_size_mlp": wide[1],
        "moe_intermediate_size": wide[2],
        "expert_ffn_hidden_size": wide[2],
        "shared_expert_intermediate_size": wide[3],
        "shared_intermediate_size": wide[3],
        "n_group": expert_groups,
        "topk_group": dice.randint(1, expert_groups),
        "first_k_dense_replace": 1,
        "moe_layer_start_index": 1,
        "rotary_dim": dim // 2,
        "conv_L_cache": dice.randint(3, 6),
        "global_head_dim": 256 + 2 * dim,
        "num_global_key_value_heads": 1,
    }
    for key in "max_seq_len", "n_positions":
        own[key] = own["max_position_embeddings"]
    for key in "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts":
        own[key] = experts
    top = dice.randint(1, min(experts // 2, 8))
    for key in "num_experts_per_tok", "moe_topk":
        own[key] = top
    shared = dice.randint(1, 3)
    for key in "num_shared_experts", "n_shared_experts", "moe_num_shared_experts":
        own[key] = shared
    latent = {
        "q_lora_rank": 16 * dice.randint(4, 48),
        "kv_lora_rank": 16 * dice.randint(2, 32),
        "qk_rope_head_dim": dice.choice((16, 32, 64)),
        "qk_nope_head_dim": dice.choice((32, 64, 96, 128)),
        "v_head_dim": dice.choice((32, 64, 96, 128)),
    }
    window = dice.choice((16, 64, 100, 256, 1000, 4096))
    windows = {"sliding_window": window, "attention_chunk_size": window}
    if "linear_num_key_heads" in tape:
        own |= _linear_attention(dice)
    return Sizes(heads, groups, dim, hidden, own, latent, windows)


def _linear_attention(dice):
    keys = dice.choice((1, 2, 3, 4, 8))
    return {
        "linear_key_head_dim": dice.choice((16, 24, 32, 64, 128)),
        "linear_value_head_dim": dice.choice((16, 32, 40, 64, 128)),
        "linear_num_key_heads": keys,
        "linear_num_value_heads": keys * dice.choice((2, 3, 4)),
        "linear_conv_kernel_dim": dice.randint(2, 6),
    }
