"""Closed forms that people use instead, as published, each for what it speaks of. Bytes."""

from collections.abc import Callable
from dataclasses import dataclass

from vramfit_plots.accuracy.cases import Case
from vramfit_plots.article_formulas import Question, its_optimizer, will_it_fit
from vramfit_plots.models import shape
from vramfit_plots.units import times

_WEIGHT = {"fp32": 4, "fp16": 2, "bf16": 2}


@dataclass(frozen=True)
class Formula:
    key: str
    name: str
    form: str
    source: str
    speaks_of: Callable[[Case], bool]
    total: Callable[[Case], float]


def _full_training(case: Case) -> bool:
    return case.training and "lora" not in case.setting


def _adam(case: Case) -> bool:
    return _full_training(case) and case.setting["opt"].startswith("adamw")


def _plain(case: Case) -> bool:
    """Without what the article's calculator has no argument for."""
    return not {"lora", "ckpt", "amp"} & case.setting.keys()


def _keeps_activations(case: Case) -> bool:
    return _adam(case) and "ckpt" not in case.setting


def _article(case: Case) -> float:
    hidden, layers = shape(case.setting["arch"])
    question = Question(
        case.parameters,
        precision=case.setting["dtype"],
        training=case.training,
        optimizer=its_optimizer(case.setting.get("opt", "")),
        batch=case.batch or 0,
        seq=case.seq,
        hidden=hidden,
        layers=layers,
    )
    return will_it_fit(question).total


def _deepspeed(case: Case) -> float:
    return 18 * case.parameters


def _accelerate(case: Case) -> float:
    return (4 if case.training else 1) * case.parameters * _WEIGHT[case.setting["dtype"]]


def _korthikanti(case: Case) -> float:
    """With the states of mixed precision, which is what the paper trains in."""
    arch = case.setting["arch"]
    hidden, layers = shape(arch)
    heads = arch.get("num_attention_heads") or arch["n_head"]
    tokens = case.seq * (case.batch or 0)
    return _deepspeed(case) + layers * tokens * hidden * (34 + 5 * heads * case.seq / hidden)


FORMULAS = (
    Formula(
        "article",
        "the article",
        "will_it_fit",
        "“GPU Memory Benchmarks: Will This Model Fit?”, its calculator with the true shape",
        _plain,
        _article,
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
        lambda case: _adam(case) or not case.training,
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
