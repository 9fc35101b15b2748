"""A case of the league (docs/league.md): what a run on somebody's card took, and the question that
it answers. Nothing private is in it: no path, no host, no data, and of a model that is not shipped
what memory depends on of its config."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime, timezone
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._keywords import written
from vramfit._questions import asked_with

if TYPE_CHECKING:
    from vramfit._answer import Answer

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
_KEPT_AT_MOST = 1 << 30  # bytes: of a card, by its driver
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


def question_of(flags: dict[str, Any], answer: Answer, where: dict[str, Any]) -> dict[str, Any]:
    """The question without anything that is its asker's own; `where` is whereabouts'. Raises
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
    kept.pop("release", None)  # it is what ran
    question = {**named, **kept, **where}
    again = asked_with(question, [], ())
    if again.levels != asked_with({**flags, **_nowhere(flags), **where}, [], ()).levels:
        raise bad_input("case: more is private of this question than can be left out of it")
    return question


def _nowhere(flags: dict[str, Any]) -> dict[str, Any]:
    """None in place of what was said of card and release."""
    return {name: None for name in ("gpu", "vram", "headroom", "release") if name in flags}


def whereabouts(gpu: dict[str, Any], versions: dict[str, str]) -> dict[str, Any]:
    """How a question names the card, and PyTorch's release where answers differ by it."""
    # A card is known by the driver's name for it, and by its size, since sizes share names.
    name, total = gpu["name"], gpu["total"]
    near = [
        (abs(vram - total), key)
        for key, title, vram, _ in _core.cards()
        if title == name and abs(vram - total) < max(0.05 * vram, _KEPT_AT_MOST)
    ]
    card = {"gpu": min(near)[1]} if near else {"vram": total}
    release = ".".join(versions.get("torch", "").split(".")[:2])
    return {**card, "release": release} if release in _other_releases() else card


def _other_releases() -> set[str]:
    """Than the one that is answered for unless another is asked for."""
    known = next(one for one in json.loads(_core.runtimes()) if one["name"] == "pytorch")
    setting = next(one for one in known["settings"] if one["name"] == "release")
    return {offer["value"] for offer in setting["offers"] if offer["value"]}


def check_sender(sender: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,39}", sender):
        raise bad_input(f"sender: is {sender!r}; a name of letters, digits, - and _, up to 39")


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
    check_sender(sender)
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


def append(line: dict[str, Any], path: str | PathLike[str]) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
