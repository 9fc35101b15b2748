"""A model's shape as formulas ask for it, of a config in any family's words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_WITHOUT_GATE = {"gpt2", "phi", "gpt_neox"}  # of the families that cases are of
_WITH_LAYER_NORM = _WITHOUT_GATE
_TIED = {"gpt2", "gemma", "gemma2", "gemma3_text"}  # unless a config says otherwise


@dataclass(frozen=True)
class Shape:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int
    vocabulary: int
    tied: bool
    gated: bool
    layer_norm: bool  # has a bias

    @property
    def largest_matrix(self) -> int:
        """Parameters of the module with most of its own."""
        return self.hidden * max(self.vocabulary, self.inner)


def shape_of(arch: Mapping[str, Any]) -> Shape:
    """GPT-2 has names of its own."""

    def read(*names: str, default: int | None = None) -> int:
        found = next((arch[name] for name in names if arch.get(name) is not None), default)
        if found is None:
            raise KeyError(names[0])
        return int(found)

    hidden = read("hidden_size", "n_embd")
    heads = read("num_attention_heads", "n_head")
    family = arch["model_type"]
    return Shape(
        hidden=hidden,
        layers=read("num_hidden_layers", "n_layer"),
        heads=heads,
        kv_heads=read("num_key_value_heads", default=heads),
        head_dim=read("head_dim", default=hidden // heads),
        inner=read("intermediate_size", "n_inner", default=4 * hidden),
        vocabulary=read("vocab_size"),
        tied=bool(arch.get("tie_word_embeddings", family in _TIED)),
        gated=family not in _WITHOUT_GATE,
        layer_norm=family in _WITH_LAYER_NORM,
    )
