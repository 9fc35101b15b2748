"""What of a config sizes were recorded with that no expression has."""

from points import LAST_LAYER, HeadsAre, rotary_fractions
from variants import annotation

# Whole numbers of no size, or of a regime that is asked for apart.
_OF_NO_SIZE = {
    "sliding_window", "attention_window_size", "window_size", "attention_chunk_size", "floor_scale",
    "pretraining_tp", "max_window_layers", "num_labels", "num_nextn_predict_layers", "n_ctx",
    "original_max_position_embeddings", "max_seq_len", "keep_window_size", "block_multiple_of",
    "chunk_size_feed_forward", "rope_theta", "rotary_emb_base", "seed",
}  # fmt: skip
_NONE = {"num_kv_shared_layers"}  # of which there were none
_LAYERS = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}
# Of these types' MLPs, where a config has no width.
_WIDTHS = {"n_inner": "4*n_embd", "intermediate_size": "4*hidden_size"}
# What is null and of no op, or of a switch's other setting.
_OF_NO_OP = {"sliding_window", "n_group", "topk_group", "rms_norm_eps"}
_FRACTIONS = ("rotary_factor", "rotary_pct", "_ratio", "_multiple")


def held_lines(points, config, rule, heads_are):
    """`holds KEY WHAT`: whole numbers that were one at all sizes, or as another key's, and
    fractions that sizes may hang on; a config that has it otherwise is refused. `points`: their
    symbols; `rule`: which tells kinds of layers, by keys that may be any."""
    told = {word.lstrip("<%^>+") for part in rule.split() for word in part.split(",")}
    names = sorted(set.intersection(*(set(point) for point in points)) - told - {"B", "S"})
    names = [name for name in names if name.isidentifier()]
    lines, known = [], {}
    for name in names:
        values = tuple(point[name] for point in points)
        if name in _OF_NO_SIZE or name in _LAYERS:
            continue
        if name == LAST_LAYER:
            lines.append(f"holds {name} num_hidden_layers-1")
            continue
        if len(set(values)) == 1:
            lines.append(f"holds {name} {values[0]}")
        elif values in known:
            lines.append(f"holds {name} {known[values]}")
        known.setdefault(values, name)
    for key, value in sorted(config.to_dict().items()):
        is_none = type(value) is int and value == 0 and key not in told - _NONE | _OF_NO_SIZE
        if is_none and not key.endswith(("token_id", "index")):
            lines.append(f"holds {key} 0")
        if isinstance(value, float) and key.endswith(_FRACTIONS):
            lines.append(f"holds {key} {value!r}")
    lines += [f"holds partial_rotary_factor {each!r}" for each in rotary_fractions(config)]
    lines += [f"holds {key} {said}" for key, said in _WIDTHS.items() if _is_null(config, key)]
    # transformers/integrations/sdpa_attention.py (use_gqa_in_sdpa): wider heads are repeated.
    lines += ["holds global_head_dim >256"] if "global_head_dim" in names else []
    if heads_are is HeadsAre.POWERS:
        heads = type(config).attribute_map.get("num_attention_heads", "num_attention_heads")
        lines.append(f"holds {heads} power_of_two")
    return sorted(set(lines))


def null_lines(kind, config, fresh):
    """`null KEY`: numbers that were null; a config that has one is refused. `null KEY SIZE`: what
    the model takes null for. `fresh`: the same config, of which no model was made."""
    made = [
        f"null {key} {value}"
        for key, value in sorted(config.to_dict().items())
        if type(value) is int and fresh.to_dict().get(key, value) is None
    ]
    made += [f"null {key} {said}" for key, said in _WIDTHS.items() if _is_null(config, key)]
    return made + [
        f"null {key}"
        for key, value in sorted(config.to_dict().items())
        if value is None
        and any(each in annotation(kind, key) for each in ("int |", "float |"))
        and key not in {*_OF_NO_OP, *_WIDTHS}
        and not key.endswith("token_id")
    ]


def _is_null(config, key):
    return key in config.to_dict() and getattr(config, key) is None
