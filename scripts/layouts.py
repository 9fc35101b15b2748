"""vramfit's names and forms of parameters, from those that Hugging Face's models have."""

from collections.abc import Callable

import torch

Lookup = Callable[[str], torch.Tensor]


def gpt2_layout(get: Lookup, layers: int) -> dict[str, torch.Tensor]:
    """vramfit's names from Hugging Face's; Conv1D keeps (in, out), vramfit keeps (out, in)."""
    out = {
        "token_embedding.weight": get("transformer.wte.weight"),
        "position_embedding.weight": get("transformer.wpe.weight"),
    }
    parts = {"qkv": "attn.c_attn", "out": "attn.c_proj", "up": "mlp.c_fc", "down": "mlp.c_proj"}
    for n in range(layers):
        theirs, ours = f"transformer.h.{n}.", f"layers.{n}."
        for kind in ("weight", "bias"):
            out[f"{ours}norm1.{kind}"] = get(f"{theirs}ln_1.{kind}")
            out[f"{ours}norm2.{kind}"] = get(f"{theirs}ln_2.{kind}")
        for name, source in parts.items():
            out[f"{ours}{name}.weight"] = get(f"{theirs}{source}.weight").T
            out[f"{ours}{name}.bias"] = get(f"{theirs}{source}.bias")
    for kind in ("weight", "bias"):
        out[f"final_norm.{kind}"] = get(f"transformer.ln_f.{kind}")
    return out


def llama_layout(
    get: Lookup, layers: int, *, qkv_bias: bool, head_norm: bool, tied: bool
) -> dict[str, torch.Tensor]:
    """vramfit's names from Hugging Face's: rows [q; k; v] and [gate; up] joined."""
    out = {"token_embedding.weight": get("model.embed_tokens.weight")}
    for n in range(layers):
        theirs, ours = f"model.layers.{n}.", f"layers.{n}."

        def rows(*sources: str, theirs: str = theirs) -> torch.Tensor:
            return torch.cat([get(theirs + source) for source in sources])

        out[f"{ours}norm1.weight"] = rows("input_layernorm.weight")
        for kind in ("weight", "bias") if qkv_bias else ("weight",):
            out[f"{ours}qkv.{kind}"] = rows(*(f"self_attn.{p}_proj.{kind}" for p in "qkv"))
        for q_or_k in "qk" if head_norm else "":
            out[f"{ours}{q_or_k}_norm.weight"] = rows(f"self_attn.{q_or_k}_norm.weight")
        out[f"{ours}out.weight"] = rows("self_attn.o_proj.weight")
        out[f"{ours}norm2.weight"] = rows("post_attention_layernorm.weight")
        out[f"{ours}up.weight"] = rows("mlp.gate_proj.weight", "mlp.up_proj.weight")
        out[f"{ours}down.weight"] = rows("mlp.down_proj.weight")
    out["final_norm.weight"] = get("model.norm.weight")
    if not tied:
        out["head.weight"] = get("lm_head.weight")
    return out


def vramfit_layout(config, get: Lookup) -> dict[str, torch.Tensor]:
    if config.model_type == "gpt2":
        return gpt2_layout(get, config.n_layer)
    return llama_layout(
        get,
        config.num_hidden_layers,
        qkv_bias=config.model_type == "qwen2",
        head_norm=config.model_type == "qwen3",
        tied=config.tie_word_embeddings,
    )
