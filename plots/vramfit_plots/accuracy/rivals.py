"""Closed forms that people use instead, as published, each for what it speaks of, and our
predictions: all held against the same measurements. Bytes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from vramfit_plots.accuracy.cases import Case
from vramfit_plots.accuracy.comparison import Accuracy
from vramfit_plots.accuracy.fit import Prediction
from vramfit_plots.catalogues import Card
from vramfit_plots.units import times

CARDS = ("rtx4090", "a100-40gb", "rtx6000-ada", "h100-80gb")  # of 24, 40, 48 and 80 GB
_WEIGHT = {"fp32": 4, "fp16": 2, "bf16": 2}


@dataclass(frozen=True)
class Formula:
    key: str
    name: str
    form: str
    source: str
    mark: tuple[str, str]  # shape and colour in the picture
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
        ("s", "#6e6e6e"),
        lambda case: case.plain,
        lambda _, prediction: prediction.article,
    ),
    Formula(
        "deepspeed",
        "DeepSpeed",
        "18 B/param",
        "DeepSpeed's documentation, “Memory Requirements”: estimate_zero3_model_states_mem_needs "
        "on one GPU; model states only",
        ("^", "#D55E00"),
        _adam,
        _deepspeed,
    ),
    Formula(
        "accelerate",
        "accelerate",
        times(4, "model") + "; model",
        "accelerate's documentation, “Model memory estimator”: training with Adam; inference",
        ("v", "#E69F00"),
        lambda case: _adam(case) or (not case.training and "quant" not in case.setting),
        _accelerate,
    ),
    Formula(
        "korthikanti",
        "Korthikanti et al.",
        "18 B/param + L·sbh(34 + 5as/h)",
        "“Reducing Activation Recomputation in Large Transformer Models”, arXiv 2205.05198, "
        "equation 1; DeepSpeed's states beside it",
        ("D", "#CC79A7"),
        _keeps_activations,
        _korthikanti,
    ),
)


def wrong(case: Case, said: float, measured: Card, cards: Mapping[str, Card]) -> list[str]:
    """The cards on which `said`, bytes of a card in all, gives another verdict than what the case
    was `measured` to take on its own, driver included."""
    taken = case.peak["device_used"] + measured.driver_reserved
    return [name for name in CARDS if (said <= cards[name].vram) != (taken <= cards[name].vram)]


@dataclass(frozen=True)
class Score:
    """Errors are of the peak allocated."""

    cases: int
    errors: pd.Series
    wrong: Mapping[str, int]  # verdicts, by card

    @property
    def all_wrong(self) -> int:
        return sum(self.wrong.values())


@dataclass(frozen=True)
class Rival:
    """A formula's score, and ours on the cases that it speaks of."""

    formula: Formula
    theirs: Score
    ours: Score
    said: pd.Series  # by case number


def score(
    comparison: Accuracy, allocated: Mapping[int, float], totals: Mapping[int, float]
) -> Score:
    """Of what was said of cases, by their numbers."""
    cases, cards = comparison.cases, comparison.cards
    errors = pd.Series({i: said / cases[i].peak["peak"] - 1 for i, said in allocated.items()})
    mistakes = [
        name
        for i, said in totals.items()
        for name in wrong(cases[i], said, comparison.measured_on(cases[i]), cards)
    ]
    return Score(len(allocated), errors, pd.Series(mistakes, dtype=object).value_counts().to_dict())


def ours(comparison: Accuracy, among: list[int]) -> Score:
    predictions = comparison.predictions
    return score(
        comparison,
        {i: predictions[i].peak["peak"] for i in among},
        {i: predictions[i].total for i in among},
    )


def with_peak(comparison: Accuracy) -> list[int]:
    """Numbers of the cases whose memory was read."""
    return [i for i, case in enumerate(comparison.cases) if case.peak]


def rivals(comparison: Accuracy) -> list[Rival]:
    found = []
    for formula in FORMULAS:
        spoken_of = {
            i: formula.total(comparison.cases[i], comparison.predictions[i])
            for i in with_peak(comparison)
            if formula.speaks_of(comparison.cases[i])
        }
        if not spoken_of:
            continue
        theirs = score(comparison, spoken_of, spoken_of)
        own = ours(comparison, list(spoken_of))
        found.append(Rival(formula, theirs, own, pd.Series(spoken_of)))
    return found
