"""Closed forms that people use instead, as published, each for what it speaks of. Bytes."""

from collections.abc import Callable
from dataclasses import dataclass

from vramfit_plots.accuracy.cases import Case
from vramfit_plots.accuracy.fit import Prediction
from vramfit_plots.units import times

_WEIGHT = {"fp32": 4, "fp16": 2, "bf16": 2}


@dataclass(frozen=True)
class Formula:
    key: str
    name: str
    form: str
    source: str
    speaks_of: Callable[[Case], bool]
    total: Callable[[Case, Prediction], float]


def _full_training(case: Case) -> bool:
    return case.training and "lora" not in case.setting


def _adam(case: Case) -> bool:
    return _full_training(case) and case.setting["opt"].startswith("adamw") and case.usual_states


def _keeps_activations(case: Case) -> bool:
    return _adam(case) and "ckpt" not in case.setting


def _deepspeed(case: Case, _: Prediction) -> float:
    return 18 * case.parameters


def _accelerate(case: Case, _: Prediction) -> float:
    return (4 if case.training else 1) * case.parameters * _WEIGHT[case.setting["dtype"]]


def _korthikanti(case: Case, prediction: Prediction) -> float:
    """With the states of mixed precision, which is what the paper trains in."""
    arch = case.setting["arch"]  # GPT-2 has names of its own
    hidden = arch.get("hidden_size") or arch["n_embd"]
    layers = arch.get("num_hidden_layers") or arch["n_layer"]
    heads = arch.get("num_attention_heads") or arch["n_head"]
    tokens = case.seq * (case.batch or 0)
    activations = layers * tokens * hidden * (34 + 5 * heads * case.seq / hidden)
    return _deepspeed(case, prediction) + activations


FORMULAS = (
    Formula(
        "article",
        "the article",
        "will_it_fit",
        "“GPU Memory Benchmarks: Will This Model Fit?”, its calculator with the true shape",
        lambda case: case.plain,
        lambda _, prediction: prediction.article,
    ),
    Formula(
        "deepspeed",
        "DeepSpeed",
        "18 B/param",
        "DeepSpeed's documentation, “Memory Requirements”: estimate_zero3_model_states_mem_needs "
        "on one GPU; model states only",
        _adam,
        _deepspeed,
    ),
    Formula(
        "accelerate",
        "accelerate",
        times(4, "model") + "; model",
        "accelerate's documentation, “Model memory estimator”: training with Adam; inference",
        lambda case: _adam(case) or (not case.training and "quant" not in case.setting),
        _accelerate,
    ),
    Formula(
        "korthikanti",
        "Korthikanti et al.",
        "18 B/param + L·sbh(34 + 5as/h)",
        "“Reducing Activation Recomputation in Large Transformer Models”, arXiv 2205.05198, "
        "equation 1; DeepSpeed's states beside it",
        _keeps_activations,
        _korthikanti,
    ),
)
