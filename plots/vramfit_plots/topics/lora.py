"""Training adapters over a frozen base, by what the base is stored in."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from vramfit_plots.captions import command
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs, Reading
from vramfit_plots.reference import LORA_TARGETS
from vramfit_plots.rows import strategy_of
from vramfit_plots.sources import SOURCES, TORCH_MEASURED
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import GB, gb, gigabytes, in_words, number

# What is no other format of the base, or checkpointing: cases that differ in it are not compared.
_COMPARED = ("precision", "checkpoint", "every", "targets")
_STAGES = ("backward", "optimizer", "zero_grad")
_COUNTERS = ("parameters", "allocated", *(f"step1_{stage}_after" for stage in _STAGES))
_MILLION = 1e6
_BAR_INCHES, _AROUND_INCHES = 0.17, 1.2
_THICKNESS = 0.86  # of a bar's place
_ROOM = 1.22  # for the figures at the bars' ends
_TICKS = 4  # at most: figures of five digits stand below
_BESIDE_WEIGHTS = 0.45  # how strong what is no weight is drawn


def adapters(inputs: Inputs, row: str) -> str:
    """In words: "rank 16 on q_proj and v_proj"."""
    name = inputs.run.parse(row)
    targets = name.axes.get("targets")
    return f"rank {name.text('lora')} on {targets or in_words(LORA_TARGETS)}"


class Trained(Reading):
    """What one side takes to train adapters. Bytes; `parameters` are the weights as loaded."""

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

    @property
    def states(self) -> float:
        """What the first step makes: the optimizer's, and gradients."""
        before, after, cleared = (self.counter(f"step1_{stage}_after") for stage in _STAGES)
        return (after - before) + (after - cleared)

    @property
    def adapters(self) -> float | None:
        """Parameters that are trained."""
        theirs = self.trainable if self.source is TORCH_MEASURED else None
        return theirs or self.inputs.value(self.row, "params_trained")

    def named(self, form: str = "{}, {}") -> str:
        plain = self.checkpointing == "none"
        return self.base if plain else form.format(self.base, self.checkpointing)


@dataclass(frozen=True)
class Lora:
    """All of one model, optimizer, rank, batch and length: those that the article's claims are
    judged by."""

    inputs: Inputs
    row: str  # of the claims
    cases: list[list[Trained]]  # by row, vramfit's before PyTorch's; the largest weights first

    @property
    def pattern(self) -> str:
        family, model, _, *rest = self.row.split("/")
        return f"^{family}/{model}/[^/]+/{'/'.join(rest)}"

    @property
    def figures(self) -> dict[str, object]:
        """What is trained, for the words about it."""
        case = self.inputs.run.parse(self.row)
        return {"case": case.axes, "adapters": adapters(self.inputs, self.row)}


def load_lora(inputs: Inputs) -> Lora:
    """Throws AbsentError where there is nothing to compare."""
    asked = inputs.article.claim("lora_parameters")["row"]
    name = inputs.run.parse(asked)
    alike = strategy_of(name).without(*_COMPARED)
    cases = []
    for row in inputs.names(name.family):
        other = inputs.run.parse(row)
        same_batch = other.axes.get("batch") == name.axes.get("batch")
        if same_batch and strategy_of(other).without(*_COMPARED) == alike:
            cases.append(inputs.best(Trained, row, *_COUNTERS))
    cases = [own for own in cases if own]
    if not cases:
        raise AbsentError(f"rows {asked} and those of other bases")
    return Lora(inputs, asked, _sorted(cases))


def _sorted(cases: list[list[Trained]]) -> list[list[Trained]]:
    """A base's cases stand together: first as it is, then what takes less and less."""
    heaviest: dict[str, float] = {}
    for own in cases:
        weights = max(one.parameters for one in own)
        heaviest[own[0].base] = max(weights, heaviest.get(own[0].base, 0.0))

    def order(own: list[Trained]) -> tuple[float, str, str, float]:
        one = own[0]
        return -heaviest[one.base], one.base, one.targets, -one.allocated

    return sorted(cases, key=order)


_COLUMNS = (
    Column("base", lambda one: f"{one.base}\n{one.targets}" if one.targets else one.base),
    Column("checkpointing", "checkpointing", text=True),
    Column("whose", "source.heading", text=True),
    Column("weights\nGB", "parameters", gb, 2),
    Column("trained\nmillions", lambda one: one.adapters and one.adapters / _MILLION, number, 1),
    Column("their gradients and states\nGB", "states", gb, 2),
    Column("peak of all steps\nGB", "allocated", gb),
    Column("tokens/s", "tokens_per_second", number),
)


def build(inputs: Inputs) -> list[Table]:
    found = load_lora(inputs)
    every = [one for own in found.cases for one in own]
    return [listing("lora", _COLUMNS, every, command(inputs, found.pattern), **found.figures)]


def _memory(axes: Axes, at: float, one: Trained) -> None:
    look = style.BY_SOURCE[one.source.key]
    axes.barh(at, one.allocated / GB, _THICKNESS, **look.bar(), alpha=_BESIDE_WEIGHTS)
    axes.barh(at, one.parameters / GB, _THICKNESS, **look.bar())
    end, text = (one.allocated / GB, at), gb(one.allocated)
    style.say(axes, text, end, (3, 0), va="center", size=8, strong=True)


def _speed(axes: Axes, at: float, one: Trained) -> None:
    speed = one.tokens_per_second
    if speed is not None:
        axes.barh(at, speed, _THICKNESS, **style.BY_SOURCE[one.source.key].bar())
        style.say(axes, number(speed), (speed, at), (3, 0), va="center", size=8, strong=True)


def _finding(every: Sequence[Trained]) -> str:
    """Of each side what the first base and the one of the lowest peak take."""
    said = []
    for side in dict.fromkeys(one.side for one in every):
        own = [one for one in every if one.side == side]
        ends = (own[0], min(own, key=lambda one: one.allocated))
        peaks = (
            f"{gigabytes(o.allocated)} over {o.named('{} with {} checkpointing')}" for o in ends
        )
        said.append(f"{in_words(dict.fromkeys(peaks))} in {side}")
    return f"LoRA takes {', '.join(said)}"


def _said(one: Trained) -> str:
    speed = one.tokens_per_second
    timed = "" if speed is None else f", {number(speed)} tokens/s"
    memory = f"weights {gb(one.parameters)}, peak {gb(one.allocated)} GB"
    return f"{one.named()}, {one.source.heading}: {memory}{timed}"


def draw(inputs: Inputs) -> Picture:
    """FP16 takes what BF16 does; other targets have the table."""
    found = load_lora(inputs)
    cases = [own for own in found.cases if own[0].base != "fp16" and not own[0].targets]
    every = [one for own in cases for one in own]
    places, title = bars.places(map(len, cases)), _finding(every)
    timed = any(one.tokens_per_second for one in every)
    figure = style.new_figure(_AROUND_INCHES + _BAR_INCHES * places.end, title)
    panels = style.grid(figure, 1 + timed, 1 + timed, sharey=True)
    draws = ((_memory, "Weights, and the peak above them", "GB"), (_speed, "Speed", "tokens/s"))
    for axes, (draw_one, heading, unit) in zip(panels, draws, strict=False):
        for y, one in bars.each(cases, places):
            draw_one(axes, y, one)
        axes.set_title(heading)
        axes.set_xlabel(unit)
        axes.set_xlim(0, _ROOM * axes.dataLim.x1)
        axes.xaxis.set_major_locator(MaxNLocator(_TICKS))
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
        axes.tick_params(length=0)
    places.name(panels[0], [own[0].named() for own in cases])
    sources = {one.source for own in found.cases for one in own}
    style.key_of(figure, [source for source in SOURCES if source in sources])
    return drawn(inputs, "lora", title, figure, [_said(one) for one in every], **found.figures)
