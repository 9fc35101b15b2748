"""A case of the league (docs/league.md): what a run on somebody's card took, and the question that
it answers. Nothing private is in it: no path, no host, no data, and of a model that is not shipped
what memory depends on of its config."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._keywords import written
from vramfit._questions import asked_with

if TYPE_CHECKING:
    from vramfit._answer import Answer

#: Libraries whose releases memory depends on.
LIBRARIES = ("torch", "transformers", "peft", "accelerate", "bitsandbytes", "vramfit")
#: Of a config.json, what may be told.
CONFIG_KEYS = (
    "model_type",
    "architectures",
    "dtype",
    "torch_dtype",
    "tie_word_embeddings",
    "vocab_size",
    "n_embd",
    "n_head",
    "n_layer",
    "n_inner",
    "n_positions",
    "hidden_size",
    "num_attention_heads",
    "num_hidden_layers",
    "intermediate_size",
    "max_position_embeddings",
    "num_key_value_heads",
    "head_dim",
    "attention_bias",
    "mlp_bias",
    "activation_function",
    "hidden_act",
    "hidden_activation",
    "qk_layernorm",
    "use_parallel_residual",
    "use_qkv_bias",
    "partial_rotary_factor",
    "rotary_pct",
    "sliding_window",
    "use_sliding_window",
    "max_window_layers",
    "layer_types",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "query_pre_attn_scalar",
    "logits_scaling",
    "embedding_multiplier",
    "residual_multiplier",
    "attention_multiplier",
    "num_experts",
    "num_local_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "decoder_sparse_step",
    "norm_topk_prob",
    "rms_norm_eps",
    "layer_norm_eps",
    "layer_norm_epsilon",
)
_WORD = re.compile(r"[A-Za-z0-9_.,+-]{1,200}")  # of flags' texts: no path, no space
_OF_ANY_RUNTIME = ("runtime", "train", "params", "hidden", "layers")


def _settings(runtime: str) -> set[str]:
    """A runtime's settings, but those that name files."""
    known = next(one for one in json.loads(_core.runtimes()) if one["name"] == runtime)
    names = {setting["name"].replace("-", "_") for setting in known["settings"]}
    return (names | {*_OF_ANY_RUNTIME}) - {"lengths", "model_draft"}


def _value(text: str) -> Any:
    """A flag's as JSON has it."""
    if text in ("", "true", "false"):
        return text != "false"
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else text


def _tellable(value: Any) -> bool:
    if isinstance(value, list):
        return all(_tellable(one) for one in value)
    return not isinstance(value, (str, dict)) or (
        isinstance(value, str) and _WORD.fullmatch(value) is not None
    )


def _read(path: Path) -> dict[str, Any]:
    file = path / "config.json" if path.is_dir() else path
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        values = None
    if not isinstance(values, dict):
        raise bad_input("case: the model is none that is shipped; give its config beside it")
    return values


def _config(flags: dict[str, Any]) -> dict[str, Any]:
    """Of a model that is no shipped one, by whatever it was given."""
    given = flags.get("config") or flags.get("model")
    if not isinstance(given, dict):
        given = _read(Path(str(given)))
    kept = {key: given[key] for key in CONFIG_KEYS if given.get(key) is not None}
    kept = {key: value for key, value in kept.items() if _tellable(value)}
    family = str(kept.get("model_type", "")).replace("_", "")
    named = [str(name) for name in kept.get("architectures", ())]
    kept["architectures"] = [name for name in named if name.lower().startswith(family)]
    return kept


def question_of(flags: dict[str, Any], answer: Answer, card: dict[str, Any]) -> dict[str, Any]:
    """The question without anything that is its asker's own; `card` is `gpu` or `vram`. Raises
    BadInput where another answer would come of it."""
    found = answer.to_dict()
    own = _core.own_flags(written(flags), [])
    kept = {
        name.replace("-", "_"): _value(text)
        for name, text in own.items()
        if name.replace("-", "_") in _settings(found["runtime"]) and _WORD.fullmatch(text or "true")
    }
    if found["asked"].get("loss_only"):
        kept["loss_only"] = True  # a Trainer's flags say so by themselves
    name = found["model"]["name"]
    if name in _core.models():
        named: dict[str, Any] = {"model": name}
    elif "params" in kept:
        named = {}
    else:
        named = {"config": _config(flags)}
    question = {**named, **kept, **card}
    again = asked_with(question, [], ())
    if again.levels != asked_with({**flags, **_no_card(flags), **card}, [], ()).levels:
        raise bad_input("case: more is private of this question than can be left out of it")
    return question


def _no_card(flags: dict[str, Any]) -> dict[str, Any]:
    """None in place of what was said of the card."""
    return {name: None for name in ("gpu", "vram", "headroom") if name in flags}


def card_of(torch: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first GPU that PyTorch sees: what is told of it, and how a question names it."""
    seen = torch.cuda.get_device_properties(0)
    name, total = str(seen.name), int(seen.total_memory)
    told = {"name": name, "total": total, "capability": f"{seen.major}.{seen.minor}"}
    # A card is known by the driver's name for it, and by its size, since sizes share names.
    near = [
        (abs(vram - total), key)
        for key, title, vram, _ in _core.cards()
        if title == name and abs(vram - total) < 0.05 * vram
    ]
    return told, {"gpu": min(near)[1]} if near else {"vram": total}


def versions_of(torch: Any) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    cuda = getattr(getattr(torch, "version", None), "cuda", None)
    return {**found, **({"cuda": str(cuda)} if cuda else {})}


def case_of(
    question: dict[str, Any],
    *,
    gpu: dict[str, Any],
    versions: dict[str, str],
    measured: dict[str, int] | None,
    beside: list[int],
    sender: str,
) -> dict[str, Any]:
    """A line of data/league/cases.jsonl. `measured` is None where the run had no room; `beside`:
    what the card lost beside PyTorch's allocator, before the run and after it."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,39}", sender):
        raise bad_input(f"sender: is {sender!r}; a name of letters, digits, - and _, up to 39")
    line = {
        "schema": 1,
        "from": sender,
        "date": datetime.now(timezone.utc).date().isoformat(),
        "gpu": gpu,
        "versions": versions,
        "question": question,
        "beside": beside,
        **({"outcome": "OOM"} if measured is None else {"measured": measured}),
    }
    spelt = json.dumps(line, sort_keys=True).encode()
    return {"id": f"{sender}/{hashlib.sha256(spelt).hexdigest()[:10]}", **line}
