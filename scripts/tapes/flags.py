"""What of a config changes a model's code, and not its sizes."""

import json
from pathlib import Path

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

_SHIPPED = Path(__file__).resolve().parents[2] / "data" / "more_models"
# Of no op, or asked for apart.
_PASSED_OVER = {
    "tie_word_embeddings", "use_cache", "is_encoder_decoder", "is_decoder", "return_dict",
    "output_attentions", "output_hidden_states", "output_router_logits", "add_cross_attention",
    "model_type", "dtype", "torch_dtype", "transformers_version", "chunk_size_feed_forward",
    "problem_type", "experts_implementation", "auto_map", "architectures", "pipeline_tag",
    "scale_attention_softmax_in_fp32", "use_double_wide_mlp",
    "allow_global_per_layer_attribute_access", "add_bos_token", "trust_remote_code", "use_mla",
}  # fmt: skip
_CHANCES = ("dropout", "drop", "pdrop", "jitter_noise", "layerdrop")
# Scores are only capped where there is one; null as a class's default says so.
_CAPS = ("_softcapping",)


def shipped_flags(kind):
    """Those of the model of that type that data/more_models has, which people run."""
    for file in sorted(_SHIPPED.glob("*/config.json")):
        config = json.loads(file.read_text())
        if config.get("model_type") == kind:
            known = CONFIG_MAPPING[kind]().to_dict()
            return {key: value for key, value in _flags(config) if key in known}
    return {}


def flag_lines(config):
    """`flag KEY VALUE [DEFAULT]`: what a tape was recorded with, and what its class has where that
    is another."""
    usual = type(config)().to_dict()
    lines = []
    for key, value in sorted(_flags(config.to_dict())):
        default = usual.get(key, value)
        unsaid = default is None and not key.endswith(_CAPS)
        other = [] if unsaid or _word(default) == _word(value) else [_word(default)]
        lines.append(" ".join(["flag", key, _word(value), *other]))
    return lines


def _flags(config):
    for key, value in config.items():
        if key in _PASSED_OVER or key.startswith("_"):
            continue
        matters = isinstance(value, float) and key.endswith(_CHANCES + _CAPS)
        if isinstance(value, (bool, str)) or matters:
            yield key, value


def _word(value):
    """A chance or a cap matters by whether there is one."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(int(value > 0))
