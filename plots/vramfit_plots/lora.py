"""Training adapters over a frozen base, by what the base is stored in."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.pytorch_rows import LORA_TARGETS
from vramfit_plots.row_name import family
from vramfit_plots.sources import OURS, THEIRS, TORCH_MEASURED, Source
from vramfit_plots.speeds import speeds
from vramfit_plots.strategies import Strategy, strategy_of
from vramfit_plots.units import in_words

# What is no other format of the base, or checkpointing: cases that differ in it are not compared.
_COMPARED = ("precision", "checkpoint", "every", "targets")


def adapters(inputs: Inputs, row: str) -> str:
    """In words: "rank 16 on q_proj and v_proj"."""
    name = inputs.run.parse(row)
    targets = name.axes.get("targets")
    return f"rank {name.text('lora')} on {targets or in_words(LORA_TARGETS)}"


@dataclass(frozen=True)
class Trained:
    """What one side takes to train adapters. Bytes."""

    row: str
    strategy: Strategy
    source: Source
    weights: float  # as loaded, adapters included
    states: float  # what the first step makes: the optimizer's, and gradients
    peak: float  # of all steps
    adapters: float | None  # parameters that are trained
    tokens_per_second: float | None

    @property
    def base(self) -> str:
        """What the frozen weights are stored in."""
        return self.strategy.axes["precision"]

    @property
    def checkpointing(self) -> str:
        return self.strategy.checkpointing

    @property
    def targets(self) -> str:
        """ "" of the usual ones."""
        return self.strategy.axes.get("targets", "")


@dataclass(frozen=True)
class Lora:
    """All of one model, optimizer, rank, batch and length: those that the article's claims are
    judged by."""

    inputs: Inputs
    row: str  # of the claims
    cases: list[list[Trained]]  # by row, vramfit's before PyTorch's; the largest weights first

    @cached_property
    def sources(self) -> list[Source]:
        return list(dict.fromkeys(one.source for own in self.cases for one in own))

    @property
    def pattern(self) -> str:
        family_, model, _, *rest = self.row.split("/")
        return f"^{family_}/{model}/[^/]+/{'/'.join(rest)}"


def _of(inputs: Inputs, row: str, source: Source) -> Trained | None:
    def value(counter: str) -> float | None:
        return inputs.value(row, f"{source.prefix}{counter}")

    weights, peak = value("parameters"), value("allocated")
    before, after, cleared = (
        value(f"step1_{stage}_after") for stage in ("backward", "optimizer", "zero_grad")
    )
    if weights is None or peak is None or before is None or after is None or cleared is None:
        return None
    theirs = value("trainable") if source is TORCH_MEASURED else None
    return Trained(
        row=row,
        strategy=strategy_of(inputs.run.parse(row)),
        source=source,
        weights=weights,
        states=(after - before) + (after - cleared),
        peak=peak,
        adapters=theirs or inputs.value(row, "params_trained"),
        tokens_per_second=speeds(inputs, row).get(source),
    )


def _sides(inputs: Inputs, row: str) -> Iterator[Trained]:
    """Of each side what was measured, else what is predicted."""
    for sources in (OURS, THEIRS):
        found = (_of(inputs, row, source) for source in sources)
        if best := next(filter(None, found), None):
            yield best


def load_lora(inputs: Inputs) -> Lora:
    """Throws AbsentError where there is nothing to compare."""
    asked = inputs.article.claim("lora_parameters")["row"]
    name = inputs.run.parse(asked)
    alike = strategy_of(name).without(*_COMPARED)
    cases = []
    for row in inputs.rows.index:
        other = inputs.run.parse(row) if family(row) == name.family else None
        if other is None or other.axes.get("batch") != name.axes.get("batch"):
            continue
        if strategy_of(other).without(*_COMPARED) == alike and (own := list(_sides(inputs, row))):
            cases.append(own)
    if not cases:
        raise AbsentError(f"rows {asked} and those of other bases")
    return Lora(inputs, asked, _sorted(cases))


def _sorted(cases: list[list[Trained]]) -> list[list[Trained]]:
    """A base's cases stand together: first as it is, then what takes less and less."""
    heaviest: dict[str, float] = {}
    for own in cases:
        weights = max(one.weights for one in own)
        heaviest[own[0].base] = max(weights, heaviest.get(own[0].base, 0.0))

    def order(own: list[Trained]) -> tuple[float, str, str, float]:
        one = own[0]
        return -heaviest[one.base], one.base, one.targets, -one.peak

    return sorted(cases, key=order)
