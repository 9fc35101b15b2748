"""Claims about several GPUs."""

from collections.abc import Mapping
from typing import Any

from vramfit_plots.claims.answer import Answer
from vramfit_plots.contradictions.common import differ
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import TORCH_MEASURED
from vramfit_plots.units import gb, gigabytes, number, percent

_GOOD = 0.85  # of N times one GPU's throughput
_HELD = f"{TORCH_MEASURED.prefix}step1_optimizer_after"
_PEAK = f"{TORCH_MEASURED.prefix}allocated"
_SPEED = f"{TORCH_MEASURED.prefix}tokens_per_second"


def _on_one(row: str) -> str:
    """The same training on one GPU."""
    return "/".join(row.replace("MultiGpu/", "Training/").split("/")[:-2])


def data_parallel_saves_nothing(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    each, one = inputs.need(row, _HELD), inputs.need(_on_one(row), _HELD)
    peak, alone = inputs.need(row, _PEAK), inputs.need(_on_one(row), _PEAK)
    figures = {TORCH_MEASURED: f"{gb(each)} on each of 2\n{gb(one)} on one"}
    if differ(each, one):
        return Answer(figures, "Does not hold.")
    dearer = (
        f" At the peak it takes more, {gb(peak)} against {gigabytes(alone)}: its buckets."
        if (peak > alone)
        else ""
    )
    return Answer(figures, f"Holds of what is held between steps.{dearer}")


def throughput(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    """Of N GPUs over that of one."""
    row = claim["near"]["row"]
    gpus = int(row.rpartition(":")[2])
    ratio = inputs.need(row, _SPEED) / inputs.need(_on_one(row), _SPEED)
    figures = {TORCH_MEASURED: f"{number(ratio, 2)} times\non {gpus} GPUs"}
    share = percent(ratio / gpus, 0, signed=False)
    word = "Holds" if ratio / gpus >= _GOOD else "In part"
    return Answer(figures, f"{word}: {share} of {gpus} times one GPU, 2,048 tokens each.")


def fsdp_no_bubble(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    row = claim["near"]["row"]
    fsdp, ddp = inputs.need(row, _SPEED), inputs.need(row.replace("/fsdp/", "/ddp/"), _SPEED)
    return Answer(
        {TORCH_MEASURED: f"{number(fsdp)} tokens/s\nDDP {number(ddp)}"},
        "Holds of a pipeline's bubble: no GPU waits for another's stage. Gathering parameters "
        f"costs time too, here {percent(1 - fsdp / ddp, 0, signed=False)} against DDP.",
    )
