"""Rules of thumb for PyTorch, and how far each is off over the measured cases that it is about.

rules.json has a row for each: of what it is and what it says, as it is printed, and then in
expressions of a case's letters and facts which cases it is about, what it predicts for one, and
what was measured. All are bytes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit_plots.accuracy.cases import LOADED, Case
from vramfit_plots.files import read_json
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import number, percent
from vramfit_plots.words import computed

ASKED_FOR = 0.20  # the article's rules hold "within ~20 %"
_SMALLEST = 3e8  # parameters: of smaller models, what is rounded up to whole blocks counts
# Two norms a layer, and of its MLP four tensors as wide: others keep more, GPT-NeoX fewer.
_USUAL = {"gemma", "gpt2", "granite", "llama", "mistral", "phi", "phi3", "qwen2"}
_COPIES_LOGITS = {"gemma2"}  # whose soft caps make a further copy of them
_NAMED = 3  # families, at most
_ADAMW = {"adamw", "adamw_fused", "adamw_loop"}
_OTHERS = {"sgd", "sgdm", "adamw8bit", "adafactor"}
# Bytes of a quantised weight, scales included.
_WEIGHT = {"int8": 1.0, "nf4": 0.5625, "fp4": 0.5625, "nf4-dq": 0.516, "fp4-dq": 0.516}
_SETTINGS = ("opt", "quant", "lora", "ckpt", "amp", "gen")


def _letters(case: Case) -> dict[str, Any]:
    """`N` is the parameters, `A` those of adapters, `L` layers, `h` the model's width, `I` the
    MLP's, `k` that of all key heads, `V` the vocabulary, `T` tokens of a micro-batch or prompt.
    `linears` are weights of the blocks' projections where the MLP is gated and queries are as wide
    as the model."""
    arch = case.setting["arch"]  # GPT-2 has names of its own
    h, heads = (
        arch.get("hidden_size") or arch["n_embd"],
        arch.get("num_attention_heads") or arch["n_head"],
    )
    layers = arch.get("num_hidden_layers") or arch["n_layer"]
    inner, vocab = arch.get("intermediate_size") or 4 * h, arch.get("vocab_size", 50257)
    k = (arch.get("head_dim") or h // heads) * arch.get("num_key_value_heads", heads)
    linears = layers * (2 * h**2 + 2 * h * k + 3 * h * inner)
    # Two weights in a byte PyTorch counts as one: a llama's embedding and head are two matrices.
    parameters = linears + 2 * vocab * h if case.packed else case.parameters
    tokens = (case.batch or 0) * case.seq
    letters = {"N": parameters, "A": case.trainable or 0, "L": layers, "h": h, "I": inner, "k": k}
    return {**letters, "V": vocab, "T": tokens, "linears": linears}


def _facts(case: Case) -> dict[str, Any]:
    """What was asked and what was measured. `full` training is of all weights as they are; `kept`
    is what the first forward pass leaves."""
    setting, stages = case.setting, case.stages
    asked = {key: setting.get(key) for key in _SETTINGS}
    whole = not (asked["lora"] or asked["quant"] or setting.get("compile"))
    family = setting["arch"]["model_type"]
    forward = stages.get("step1.forward") or stages.get("step1.forward1") or {}
    loaded = stages.get(LOADED, {}).get("after")
    return {
        **asked,
        "training": case.training,
        "stages": bool(stages),
        "fp32": setting["dtype"] == "fp32",
        "adamw": asked["opt"] in _ADAMW,
        "full": case.training and bool(stages) and whole and asked["opt"] in _ADAMW | _OTHERS,
        "fused": setting.get("attn", "sdpa") == "sdpa",
        "family": family,
        "usual": family in _USUAL,
        "copies_logits": _COPIES_LOGITS,
        "weight": _WEIGHT,
        "accum": case.micro_batches,
        "cached": (case.batch or 0) * (case.seq + case.new_tokens - 1),
        "loaded": loaded,
        "kept": forward["after"] - loaded if forward else None,
        "after_step": stages.get("step1.optimizer", {}).get("after"),
        "peak": case.peak.get("peak"),
        "device_used": case.peak.get("device_used"),
    }


@dataclass(frozen=True)
class Rule:
    of: str
    says: str
    about: str
    predicted: str
    measured: str

    def cases(self, every: Iterable[Case]) -> list[Case]:
        return [
            case
            for case in every
            if _letters(case)["N"] >= _SMALLEST and self._of(case, self.about)
        ]

    def error(self, case: Case) -> float:
        return self._of(case, self.predicted) / self._of(case, self.measured) - 1

    def _of(self, case: Case, expression: str) -> Any:
        return computed(expression, {**_facts(case), **_letters(case)})


RULES = [Rule(**row) for row in read_json(Path(__file__).with_suffix(".json"))]


def _range(values: Iterable[float], unit: float = 1, decimals: int = 0) -> str:
    """ "0.4" to "6.7", or one number where they are alike."""
    low, high = min(values := sorted(values)), max(values)
    texts = [number(value / unit, decimals) for value in (low, high)]
    return texts[0] if texts[0] == texts[1] else " \N{EN DASH} ".join(texts)


def _families(cases: Iterable[Case]) -> str:
    names = sorted({case.setting["arch"]["model_type"] for case in cases})
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} families"


def _letter(letter: str, *unit: float) -> Callable[[tuple[Rule, list[Case]]], str]:
    return lambda line: _range([_letters(case)[letter] for case in line[1]], *unit)


def _worst(which: Callable[[Iterable[float]], float]) -> Callable[[tuple[Rule, list[Case]]], float]:
    return lambda line: which([line[0].error(case) for case in line[1]])


_COLUMNS = (  # of a rule and its cases
    Column("of", lambda line: line[0].of),
    Column("bytes", lambda line: line[0].says, text=True),
    Column("cases", lambda line: len(line[1])),
    Column("families", lambda line: _families(line[1]), text=True),
    Column("N, 1e9", _letter("N", 1e9, 1)),
    Column("T", _letter("T")),
    Column("lowest", _worst(min), percent),
    Column("highest", _worst(max), percent),
)


def table(every: Iterable[Case]) -> Table:
    every = list(every)
    return listing("rules", _COLUMNS, [(rule, rule.cases(every)) for rule in RULES])
