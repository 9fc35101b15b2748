"""How much more several GPUs do than one, and what they send for it."""

from collections.abc import Iterator
from dataclasses import dataclass

from vramfit_plots.inputs import Inputs
from vramfit_plots.several_gpus import PER_PARAMETER, STRATEGIES, Spread, spread
from vramfit_plots.sources import MEASURED, TORCH_MEASURED, Source

# vramfit's own speed has no prefix.
_SPEED = {
    MEASURED.key: "tokens_per_second",
    TORCH_MEASURED.key: "pytorch_measured_tokens_per_second",
}
TIMED = (MEASURED, TORCH_MEASURED)


@dataclass(frozen=True)
class Scaling:
    """One side's measured speed on several GPUs."""

    spread: Spread
    source: Source
    tokens_per_second: float
    alone: float | None  # of one GPU on the same work
    exposed: float | None  # share of a step in which communication is not hidden

    @property
    def ratio(self) -> float | None:
        return None if self.alone is None else self.tokens_per_second / self.alone

    @property
    def efficiency(self) -> float | None:
        """Of N times one GPU's throughput."""
        return None if self.ratio is None else self.ratio / self.spread.gpus


def every_spread(inputs: Inputs) -> list[Spread]:
    """Those of two GPUs or more: each model's by the batch, the GPUs and what is shared."""
    found = [one for one in map(spread, inputs.rows.index) if one is not None and one.gpus > 1]
    models = [model for model in inputs.models if any(one.model == model for one in found)]

    def order(one: Spread) -> tuple:
        kept = (PER_PARAMETER.get(one.optimizer, 0), one.optimizer)
        sizes = (one.batch, one.seq, one.gpus)
        strategy = (STRATEGIES.index(one.strategy), one.micro_batches, one.more)
        return (models.index(one.model), *kept, *sizes, *strategy)

    return sorted((one for one in found if one.model in models), key=order)


def out_of_memory(inputs: Inputs, one: Spread, source: Source) -> bool:
    """Whether it was run and did not end; its figures are then those of how far it came."""
    run = inputs.value(one.row, "mem_allocated") is not None
    return source is MEASURED and run and bool(inputs.value(one.row, "oom"))


def _alone(inputs: Inputs, one: Spread, source: Source) -> float | None:
    counter = _SPEED[source.key]
    found = (inputs.value(row, counter) for row in (one.alone.row, one.training))
    return next((speed for speed in found if speed is not None), None)


def _exposed(inputs: Inputs, one: Spread, speed: float) -> float | None:
    seconds = inputs.value(one.row, "exposed_seconds")
    whole = 1 if one.strategy == "pipeline" else one.gpus  # batches that a step is of
    step = one.batch * one.seq * one.micro_batches * whole / speed
    return None if seconds is None else seconds / step


def scaling(inputs: Inputs, one: Spread, source: Source) -> Scaling | None:
    """None where nobody timed it."""
    speed = inputs.value(one.row, _SPEED[source.key])
    if not speed:
        return None
    exposed = _exposed(inputs, one, speed) if source is MEASURED else None
    return Scaling(one, source, speed, _alone(inputs, one, source), exposed)


def every_scaling(inputs: Inputs) -> Iterator[Scaling]:
    for one in every_spread(inputs):
        for source in TIMED:
            if found := scaling(inputs, one, source):
                yield found
