"""Rules of thumb for PyTorch, and how far each is off over the measured cases that it is about."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vramfit_plots.accuracy.cases import LOADED, Case
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import TIMES, number, percent

ASKED_FOR = 0.20  # the article's rules hold "within ~20 %"
_SMALLEST = 3e8  # parameters: of smaller models, what is rounded up to whole blocks counts
# Two norms a layer, and of its MLP four tensors as wide: others keep more, GPT-NeoX fewer.
_USUAL = {"gemma", "gpt2", "granite", "llama", "mistral", "phi", "phi3", "qwen2"}
_SOFTCAPS = {"gemma2"}  # a further copy of the logits
_NAMED = 3  # families, at most
_ADAMW = {"adamw", "adamw_fused", "adamw_loop"}
_ELEMENT = {"fp32": 4, "fp16": 2, "bf16": 2}
# Bytes of a quantised weight, scales included.
_WEIGHT = {"int8": 1.0, "nf4": 0.5625, "fp4": 0.5625, "nf4-dq": 0.516, "fp4-dq": 0.516}


@dataclass(frozen=True)
class Rule:
    """`N` is the parameters, `A` those of adapters, `L` layers, `h` the model's width, `I` the
    MLP's, `k` that of all key heads, `V` the vocabulary, `T` tokens of a micro-batch or prompt."""

    key: str
    of: str
    says: str
    about: Callable[[Case], bool]
    predicted: Callable[[Case], float]  # bytes
    measured: Callable[[Case], int]

    def cases(self, every: Iterable[Case]) -> list[Case]:
        return [case for case in every if _parameters(case) >= _SMALLEST and self.about(case)]

    def error(self, case: Case) -> float:
        return self.predicted(case) / self.measured(case) - 1


@dataclass(frozen=True)
class _Shape:
    hidden: int
    layers: int
    vocab: int
    inner: int
    key: int

    @property
    def linears(self) -> int:
        """Weights of the blocks' projections where the MLP is gated and queries are as wide as the
        model."""
        attention = 2 * self.hidden**2 + 2 * self.hidden * self.key
        return self.layers * (attention + 3 * self.hidden * self.inner)


def _shape(case: Case) -> _Shape:
    arch: Mapping[str, Any] = case.setting["arch"]  # GPT-2 has names of its own
    hidden = arch.get("hidden_size") or arch["n_embd"]
    heads = arch.get("num_attention_heads") or arch["n_head"]
    return _Shape(
        hidden=hidden,
        layers=arch.get("num_hidden_layers") or arch["n_layer"],
        vocab=arch.get("vocab_size", 50257),
        inner=arch.get("intermediate_size") or 4 * hidden,
        key=(arch.get("head_dim") or hidden // heads) * arch.get("num_key_value_heads", heads),
    )


def _family(case: Case) -> str:
    return case.setting["arch"]["model_type"]


def _has(case: Case, *keys: str) -> bool:
    return any(case.setting.get(key) for key in keys)


def _full_training(case: Case, *optimizers: str) -> bool:
    return (
        case.training
        and bool(case.stages)
        and case.setting["opt"] in optimizers
        and not _has(case, "lora", "quant", "compile")
    )


def _in_16_bits(case: Case) -> bool:
    return case.setting["dtype"] != "fp32"


def _keeps_activations(case: Case) -> bool:
    """Of the families whose layers the rule counts; fused attention, whole in 16 bits."""
    return (
        _full_training(case, *_ADAMW, "sgd", "sgdm", "adamw8bit", "adafactor")
        and _in_16_bits(case)
        and _family(case) in _USUAL
        and case.setting.get("attn", "sdpa") == "sdpa"
        and not _has(case, "ckpt")
    )


def _loaded(case: Case) -> int:
    return case.stages[LOADED]["after"]


def _after_step(case: Case) -> int:
    return case.stages["step1.optimizer"]["after"]


def _kept(case: Case) -> int:
    forward = case.stages.get("step1.forward") or case.stages["step1.forward1"]
    return forward["after"] - _loaded(case)


def _peak(case: Case) -> int:
    return case.peak["peak"]


def _tokens(case: Case) -> int:
    return (case.batch or 0) * case.seq


def _activations(case: Case) -> float:
    shape = _shape(case)
    block = 22 * shape.hidden + 8 * shape.inner + 4 * shape.key
    return _tokens(case) * (shape.layers * block + 6 * shape.vocab)


def _training(case: Case) -> float:
    """The second step's: states are there, and gradients of the logits in fp32, twice."""
    kept = _activations(case) + 8 * _tokens(case) * _shape(case).vocab
    return max(8 * case.parameters, 6 * case.parameters + kept)


def _checkpoints(case: Case) -> float:
    shape = _shape(case)
    return _tokens(case) * (2 * shape.layers * shape.hidden + 6 * shape.vocab)


def _generation(case: Case) -> float:
    shape = _shape(case)
    held = (case.batch or 0) * (case.seq + case.new_tokens - 1)
    cache = held * 2 * shape.layers * shape.key * 2
    return 2 * case.parameters + cache + 9 * shape.inner * _tokens(case)


def _parameters(case: Case) -> int:
    """Also where two weights lie in a byte, which PyTorch counts as one: of llama, whose embedding
    and head are two matrices."""
    shape = _shape(case)
    return shape.linears + 2 * shape.vocab * shape.hidden if case.packed else case.parameters


def _quantized(case: Case) -> float:
    linears = _shape(case).linears
    return _WEIGHT[case.setting["quant"]] * linears + 2 * (_parameters(case) - linears)


def _each(bytes_: float) -> Callable[[Case], float]:
    return lambda case: bytes_ * case.parameters


RULES = (
    Rule(
        "weights",
        "weights",
        "2 N in 16 bits, 4 N in fp32",
        lambda case: bool(case.stages) and not _has(case, "lora", "quant"),
        lambda case: _ELEMENT[case.setting["dtype"]] * case.parameters,
        _loaded,
    ),
    Rule(
        "quantized",
        "weights by bitsandbytes",
        "a linear's weight 1 in int8, 0.56 in 4 bits, 0.52 double-quantised; others 2",
        lambda case: (
            not case.training and case.setting.get("quant") in _WEIGHT and _family(case) == "llama"
        ),
        _quantized,
        _loaded,
    ),
    Rule(
        "adamw",
        "weights, gradients and AdamW's states, 16 bits",
        "8 N",
        lambda case: _full_training(case, *_ADAMW) and _in_16_bits(case),
        _each(8),
        _after_step,
    ),
    Rule(
        "adamw_fp32",
        "the same in fp32, autocast or not",
        "16 N",
        lambda case: _full_training(case, *_ADAMW) and not _in_16_bits(case),
        _each(16),
        _after_step,
    ),
    Rule(
        "adamw_8bit",
        "the same with 8-bit AdamW, weights in 16 bits",
        "6 N",
        lambda case: _full_training(case, "adamw8bit") and _in_16_bits(case),
        _each(6),
        _after_step,
    ),
    Rule(
        "sgd",
        "the same with SGD, 16 bits",
        "4 N, with momentum 6 N",
        lambda case: _full_training(case, "sgd", "sgdm") and _in_16_bits(case),
        lambda case: (4 if case.setting["opt"] == "sgd" else 6) * case.parameters,
        _after_step,
    ),
    Rule(
        "lora",
        "weights in 16 bits, adapters, their gradients and AdamW's states",
        "2 N + 16 A",
        lambda case: (
            case.training
            and bool(case.stages)
            and _has(case, "lora")
            and not _has(case, "quant")
            and _in_16_bits(case)
        ),
        lambda case: 2 * case.parameters + 16 * (case.trainable or 0),
        _after_step,
    ),
    Rule(
        "activations",
        "what forward keeps, fused attention, 16 bits",
        "T (L (22 h + 8 I + 4 k) + 6 V)",
        _keeps_activations,
        _activations,
        _kept,
    ),
    Rule(
        "checkpoints",
        "what forward keeps with checkpointing",
        "T (2 L h + 6 V)",
        lambda case: (
            case.training
            and bool(case.stages)
            and _has(case, "ckpt")
            and not _has(case, "quant", "amp")
            and _family(case) not in _SOFTCAPS
        ),
        _checkpoints,
        _kept,
    ),
    Rule(
        "training",
        "the peak of training, fused AdamW, 16 bits",
        "8 N, or 6 N + T (L (22 h + 8 I + 4 k) + 14 V)",
        lambda case: (
            _keeps_activations(case)
            and case.setting["opt"] == "adamw_fused"
            and case.micro_batches == 1
        ),
        _training,
        _peak,
    ),
    Rule(
        "generation",
        "the peak of generating, 16 bits",
        "2 N + 4 L k a token of the cache + 9 I T",
        lambda case: (
            not case.training
            and _in_16_bits(case)
            and case.setting.get("attn", "sdpa") == "sdpa"
            and not _has(case, "quant", "gen")
        ),
        _generation,
        _peak,
    ),
    Rule(
        "card",
        "what the process takes of the card, at any peak",
        f"1.07 {TIMES} its tensors + 0.8 GB",
        lambda case: bool(case.peak),
        lambda case: 1.07 * _peak(case) + 0.8e9,
        lambda case: case.peak["device_used"],
    ),
)


def _range(values: Iterable[float], unit: float = 1, decimals: int = 0) -> str:
    """ "0.4" to "6.7", or one number where they are alike."""
    low, high = min(values := sorted(values)), max(values)
    texts = [number(value / unit, decimals) for value in (low, high)]
    return texts[0] if texts[0] == texts[1] else " \N{EN DASH} ".join(texts)


def _families(cases: Iterable[Case]) -> str:
    names = sorted({_family(case) for case in cases})
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} families"


def _worst(which: Callable[[Iterable[float]], float]) -> Callable[[tuple[Rule, list[Case]]], float]:
    return lambda line: which([line[0].error(case) for case in line[1]])


_COLUMNS = (  # of a rule and its cases
    Column("of", lambda line: line[0].of),
    Column("bytes", lambda line: line[0].says, text=True),
    Column("cases", lambda line: len(line[1])),
    Column("families", lambda line: _families(line[1]), text=True),
    Column("N, 1e9", lambda line: _range(map(_parameters, line[1]), 1e9, 1)),
    Column("T", lambda line: _range(map(_tokens, line[1]))),
    Column("lowest", _worst(min), percent),
    Column("highest", _worst(max), percent),
)


def table(every: Iterable[Case]) -> Table:
    every = list(every)
    return listing("rules", _COLUMNS, [(rule, rule.cases(every)) for rule in RULES])
