"""The article's waterfall with every optimizer of vramfit's that there are rows of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.pytorch_rows import theirs_by_ours
from vramfit_plots.sources import OURS, THEIRS, Source
from vramfit_plots.speeds import speeds
from vramfit_plots.tables.waterfall import row_name

_SIXTEEN_BITS = ("bf16", "fp16")  # of the same bytes; of as many rows the first
PEAK = "allocated"


@dataclass(frozen=True)
class Waterfall:
    """What one side allocates with an optimizer, on the card but for `host`. Bytes."""

    optimizer: str
    source: Source
    row: str
    after: Mapping[str, float]  # by stage of step 1
    peak: float  # of all steps
    host: float  # taken of the host's memory
    params: int
    tokens_per_second: float | None

    @property
    def states_per_parameter(self) -> float:
        """What stays between steps beside the weights."""
        return (self.after["zero_grad"] - self.after["loaded"]) / self.params


@dataclass(frozen=True)
class Optimizers:
    inputs: Inputs
    precision: str
    every: list[list[Waterfall]]  # by optimizer, those of the fewest states first

    @property
    def model(self) -> str:
        return self.inputs.article.waterfall["model"]

    @property
    def on_host(self) -> bool:
        """Whether any keeps something in the host's memory."""
        return any(waterfall.host for own in self.every for waterfall in own)

    @property
    def pattern(self) -> str:
        _, _, *end = _axes(self.inputs)
        return f"^Training/{self.model}/{self.precision}/[^/]+/{'/'.join(end[1:])}$"

    def pytorchs(self, optimizer: str) -> str:
        """PyTorch's name for what stands beside one of ours."""
        return theirs_by_ours(self.inputs.run.fact("pytorch_optimizers")).get(optimizer, "")


def _axes(inputs: Inputs) -> list[str]:
    """Those of the article's row: model, precision, optimizer, …"""
    return row_name(inputs).split("/")[1:]


def _rows(inputs: Inputs, precision: str) -> dict[str, str]:
    """By optimizer."""
    model, _, _, *end = _axes(inputs)
    found = {}
    for row in inputs.rows.index:
        parts = row.split("/")
        if parts[:3] == ["Training", model, precision] and parts[4:] == end:
            found[parts[3]] = row
    return found


def _of(inputs: Inputs, optimizer: str, row: str) -> Iterator[Waterfall]:
    stages = [entry["stage"] for entry in inputs.article.waterfall["rows"]]
    params = inputs.models[inputs.article.waterfall["model"]].parameters
    for sources in (OURS, THEIRS):
        for source in sources:
            peak = inputs.value(row, f"{source.prefix}{PEAK}")
            after = {s: inputs.value(row, f"{source.prefix}step1_{s}_after") for s in stages}
            known = {stage: value for stage, value in after.items() if value is not None}
            if peak is not None and len(known) == len(stages):
                speed = speeds(inputs, row).get(source)
                host = inputs.value(row, f"{source.prefix}host") or 0
                yield Waterfall(optimizer, source, row, known, peak, host, params, speed)
                break


def load_optimizers(inputs: Inputs) -> Optimizers:
    by_precision = {
        precision: [
            waterfalls
            for optimizer, row in _rows(inputs, precision).items()
            if (waterfalls := list(_of(inputs, optimizer, row))) and waterfalls[0].source in OURS
        ]
        for precision in _SIXTEEN_BITS
    }
    precision = max(_SIXTEEN_BITS, key=lambda one: len(by_precision[one]))
    if not by_precision[precision]:
        raise AbsentError(row_name(inputs))
    every = sorted(
        by_precision[precision], key=lambda own: (own[0].states_per_parameter, own[0].optimizer)
    )
    return Optimizers(inputs, precision, every)
