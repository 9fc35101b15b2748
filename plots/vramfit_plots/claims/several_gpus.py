"""Claims about several GPUs."""

from collections.abc import Mapping
from typing import Any

from vramfit_plots.claims.answer import Answer
from vramfit_plots.contradictions.common import differ
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import TORCH_MEASURED
from vramfit_plots.units import gb, number, percent

_GOOD = 0.85  # of N times one GPU's throughput
_STEPPED = f"{TORCH_MEASURED.prefix}step1_optimizer_after"
_BETWEEN = f"{TORCH_MEASURED.prefix}step1_zero_grad_after"
_PEAK = f"{TORCH_MEASURED.prefix}allocated"
_SPEED = f"{TORCH_MEASURED.prefix}tokens_per_second"


def _on_one(row: str) -> str:
    """The same training on one GPU."""
    return "/".join(row.replace("MultiGpu/", "Training/").split("/")[:-2])


def _gpus(row: str) -> int:
    return int(row.rpartition(":")[2])


def data_parallel_saves_nothing(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    each, one = inputs.need(row, _STEPPED), inputs.need(_on_one(row), _STEPPED)
    figures = {TORCH_MEASURED: f"{gb(each)} on each of {_gpus(row)}\n{gb(one)} on one"}
    if each < one and differ(each, one):
        return Answer(figures, "Does not hold.")
    more = [
        f"{when} {gb(here)} against {gb(alone)}"
        for when, counter in (("between steps", _BETWEEN), ("at the peak", _PEAK))
        for here, alone in [(inputs.need(row, counter), inputs.need(_on_one(row), counter))]
        if here > alone and differ(here, alone)
    ]
    dearer = (
        f" At other times it takes more, as its buckets stay: {', '.join(more)} GB." if more else ""
    )
    return Answer(figures, f"Holds after the optimizer's step.{dearer}")


def throughput(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    """Of N GPUs over that of one."""
    row = claim["near"]["row"]
    gpus = _gpus(row)
    ratio = inputs.need(row, _SPEED) / inputs.need(_on_one(row), _SPEED)
    figures = {TORCH_MEASURED: f"{number(ratio, 2)} times\non {gpus} GPUs"}
    share = percent(ratio / gpus, 0, signed=False)
    word = "Holds" if ratio / gpus >= _GOOD else "In part"
    asked = percent(_GOOD, 0, signed=False)
    verdict = f"{word}: {share} of {gpus} times one GPU's throughput"
    return Answer(figures, f"{verdict}; {asked} counts as good.")


def fsdp_no_bubble(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    fsdp, ddp = inputs.need(row, _SPEED), inputs.need(row.replace("/fsdp/", "/ddp/"), _SPEED)
    figures = {TORCH_MEASURED: f"{number(fsdp)} tokens/s\nDDP {number(ddp)}"}
    bubble = (
        "Holds by design: no GPU waits for another's stage. That is reasoned: nobody measured it."
    )
    if fsdp >= ddp:
        return Answer(figures, bubble)
    cost = percent(1 - fsdp / ddp, 0, signed=False)
    gathering = f"Gathering parameters costs time instead, here {cost} of DDP's throughput."
    return Answer(figures, f"{bubble} {gathering}")
