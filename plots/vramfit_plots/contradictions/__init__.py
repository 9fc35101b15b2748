"""Where the article disagrees with itself, or with what was predicted or measured.

Each item computes its figures and says them in a sentence; it returns None where the figures no
longer disagree, and raises AbsentError where this run cannot tell."""

from collections.abc import Callable
from dataclasses import dataclass

from vramfit_plots.contradictions import fitting, formula, inference, training
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs


@dataclass(frozen=True)
class Contradiction:
    title: str
    text: str


@dataclass(frozen=True)
class Contradictions:
    found: list[Contradiction]
    unknown: list[str]  # titles of items that need rows this run does not hold


ITEMS: tuple[tuple[str, Callable[[Inputs], str | None]], ...] = (
    ("7B is not 7 billion", inference.parameter_count),
    ("Table 2 and its calculator", training.table_2_and_calculator),
    ("Activations", training.activations),
    ("torch.optim.AdamW keeps other states", training.torch_keeps_other_states),
    ("The peak comes after the first step", training.first_step_only),
    ("7B with Adam does fit", fitting.adam_does_fit),
    ("The KV cache's size", inference.kv_total),
    ("The KV cache and precision", inference.kv_any_precision),
    ("Peak less model is not the cache", inference.peak_is_no_cache),
    ("INT8 and INT4 take more", inference.quantised_weights),
    ("Table 3's last column", fitting.lora_column),
    ("Table 4 and its code", fitting.table_4_and_code),
    ("The rules of thumb", formula.formula_against_runs),
    ("What the allocator does not see", training.beyond_the_allocator),
)


def contradictions(inputs: Inputs) -> Contradictions:
    found, unknown = [], []
    for title, item in ITEMS:
        try:
            text = item(inputs)
        except AbsentError:
            unknown.append(title)
            continue
        if text is not None:
            found.append(Contradiction(title, text))
    return Contradictions(found, unknown)
