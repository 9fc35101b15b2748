"""What could be changed about a script, what each change lowers, and what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

# What no tensor holds, and what an optimizer works in, beside the components of an answer.
_UNUSED, _OF_OPTIMIZER = "unused", "of_optimizer"


@dataclass(frozen=True)
class Adjustment:
    """One change, as standin/_changes.py has it by its name."""

    name: str
    label: str
    lowers: tuple[str, ...]  # components
    least: float  # share of the peak that they must have for it to be worth a trial
    met_nothing: str  # why it is not applicable where it met nothing to change
    costs: str | None = None  # the user, beside the line; None: nothing
    allocator: str | None = None  # a setting of PyTorch's allocator, by the environment


# Those that cost least first. What costs nothing is tried for less.
ADJUSTMENTS = (
    Adjustment(
        "expandable_segments",
        "segments of the allocator's that grow",
        (_UNUSED,),
        0.03,
        "PyTorch did not take the setting",
        allocator="expandable_segments:True",
    ),
    Adjustment(
        "no_cache",
        "no cache of keys and values in training",
        ("kv_cache",),
        0.01,
        "no model of transformers' kept one in training",
    ),
    Adjustment(
        "fused_adamw",
        "fused AdamW",
        (_OF_OPTIMIZER,),
        0.03,
        "no Adam of torch's was made that is not fused",
    ),
    Adjustment(
        "fused_loss",
        "Liger's kernels, whose loss has no whole logits",
        ("logits",),
        0.05,
        "no model that Liger knows was trained, and computed its loss",
    ),
    Adjustment(
        "adamw_8bit",
        "8-bit AdamW of bitsandbytes",
        ("optimizer_state",),
        0.1,
        "no Adam of torch's was made",
        "states are rounded to 8 bits",
    ),
    Adjustment(
        "micro_batch",
        "half the micro-batch, twice the accumulation",
        ("activations", "logits"),
        0.1,
        "no TrainingArguments, and no DataLoader(…, batch_size=…) of torch's that fed training, "
        "has two rows or more",
        "time: smaller batches use a GPU less well",
    ),
    Adjustment(
        "checkpointing",
        "activation checkpointing",
        ("activations",),
        0.1,
        "no model of transformers' that supports it was trained without",
        "time: forward is computed again in backward",
    ),
    Adjustment(
        "lora",
        "LoRA of rank 16",
        ("gradients", "optimizer_state"),
        0.2,
        "no model of transformers' was made or loaded",
        "another training: of adapters, the model itself stays as it is",
    ),
)


def shares(answer: Json) -> Counter[str] | None:
    """Of each component in what was reserved; None: nobody knows who held what."""
    if not answer["holders"]:
        return None
    levels = answer["levels"]
    held: Counter[str] = Counter()
    for holder in answer["holders"]:
        held[holder["component"]] += holder["bytes"]
    held[_UNUSED] = levels["reserved"] - levels["allocated"]
    if answer["peak"]["stage"] == "optimizer":
        held[_OF_OPTIMIZER] = held["workspace"]
    return Counter({name: size / levels["reserved"] for name, size in held.items()})


def worth_trying(answer: Json) -> list[Adjustment]:
    """Those that lower what dominates; all, where nobody knows what does."""
    held = shares(answer)
    if held is None:
        return list(ADJUSTMENTS)
    return [
        adjustment for adjustment in ADJUSTMENTS if _lowers(adjustment, held) >= adjustment.least
    ]


def next_to_try(adjustments: list[Adjustment], answer: Json) -> Adjustment:
    """The one that costs least of those that may be enough, else the one that lowers most."""
    held = shares(answer) or Counter()
    off = answer["uncertainty"]
    lacking = off["reserved"] + off["overhead_more"] - answer["margin"]
    for adjustment in adjustments:
        if _lowers(adjustment, held) * answer["levels"]["reserved"] > lacking:
            return adjustment
    return max(adjustments, key=lambda adjustment: _lowers(adjustment, held))


def _lowers(adjustment: Adjustment, held: Counter[str]) -> float:
    return sum(held[component] for component in adjustment.lowers)
