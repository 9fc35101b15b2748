"""Training adapters over a frozen base, by what the base is stored in."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from vramfit_plots.captions import caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.inputs import Inputs
from vramfit_plots.pytorch_rows import LORA_TARGETS
from vramfit_plots.row_name import family
from vramfit_plots.sources import SOURCES, TORCH_MEASURED, Source, best_of_each_side
from vramfit_plots.strategies import Strategy, strategy_of
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.units import GB, gb, gigabytes, in_words, number

# What is no other format of the base, or checkpointing: cases that differ in it are not compared.
_COMPARED = ("precision", "checkpoint", "every", "targets")
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
        family_, model, _, *rest = self.row.split("/")
        return f"^{family_}/{model}/[^/]+/{'/'.join(rest)}"

    def what(self, comma: str) -> str:
        """What is trained, in words."""
        case = self.inputs.run.parse(self.row)
        return (
            f"Training {case.text('model')} with LoRA of {adapters(self.inputs, self.row)}{comma} "
            f"batch {case.text('batch')} of {case.text('seq')} tokens"
        )


def _of(inputs: Inputs, row: str, source: Source) -> Trained | None:
    stages = (f"step1_{stage}_after" for stage in ("backward", "optimizer", "zero_grad"))
    found = inputs.all_of(row, source, "parameters", "allocated", *stages)
    if found is None:
        return None
    weights, peak, before, after, cleared = found
    theirs = inputs.of(row, source, "trainable") if source is TORCH_MEASURED else None
    return Trained(
        row=row,
        strategy=strategy_of(inputs.run.parse(row)),
        source=source,
        weights=weights,
        states=(after - before) + (after - cleared),
        peak=peak,
        adapters=theirs or inputs.value(row, "params_trained"),
        tokens_per_second=inputs.speed(row, source),
    )


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
        if strategy_of(other).without(*_COMPARED) == alike:
            cases.append(best_of_each_side(lambda source, row=row: _of(inputs, row, source)))
    cases = [own for own in cases if own]
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


_COLUMNS = (
    Column("base", lambda one: f"{one.base}\n{one.targets}" if one.targets else one.base),
    Column("checkpointing", "checkpointing", text=True),
    Column("whose", "source.heading", text=True),
    Column("weights\nGB", "weights", gb, 2),
    Column("trained\nmillions", lambda one: one.adapters and one.adapters / _MILLION, number, 1),
    Column("their gradients and states\nGB", "states", gb, 2),
    Column("peak of all steps\nGB", "peak", gb),
    Column("tokens/s", "tokens_per_second", number),
)


def build(inputs: Inputs) -> list[Table]:
    found = load_lora(inputs)
    note = (
        f"{found.what(', or on what stands below the base;')}. GB are 1e9 bytes; weights are those "
        "of base and adapters. INT8 is vramfit's own W8A8 and bitsandbytes' LLM.int8() in PyTorch, "
        "NF4 of both is bitsandbytes' format; nf4-dq quantises its scales too. PEFT keeps the "
        "other weights of a quantised model, embeddings among them, in FP32. Of a peak that is "
        "predicted there is no speed."
    )
    title = "LoRA by what the frozen weights are stored in"
    every = [one for own in found.cases for one in own]
    return [listing("lora", title, _COLUMNS, every, caption(inputs, found.pattern, note))]


def _memory(axes: Axes, at: float, one: Trained) -> None:
    look = style.BY_SOURCE[one.source.key]
    axes.barh(at, one.peak / GB, _THICKNESS, **look.bar(), alpha=_BESIDE_WEIGHTS)
    axes.barh(at, one.weights / GB, _THICKNESS, **look.bar())
    style.say(axes, gb(one.peak), (one.peak / GB, at), (3, 0), va="center", size=8, strong=True)


def _speed(axes: Axes, at: float, one: Trained) -> None:
    speed = one.tokens_per_second
    if speed is not None:
        axes.barh(at, speed, _THICKNESS, **style.BY_SOURCE[one.source.key].bar())
        style.say(axes, number(speed), (speed, at), (3, 0), va="center", size=8, strong=True)


def _finding(cases: Sequence[Sequence[Trained]]) -> str:
    """Of each side what the first base and the one of the lowest peak take."""
    said = []
    for side in dict.fromkeys(one.source.side for own in cases for one in own):
        every = [one for own in cases for one in own if one.source.side == side]
        ends = (every[0], min(every, key=lambda one: one.peak))
        peaks = (f"{gigabytes(o.peak)} over {o.named('{} with {} checkpointing')}" for o in ends)
        said.append(f"{in_words(dict.fromkeys(peaks))} in {side}")
    return f"LoRA takes {', '.join(said)}"


def _said(one: Trained) -> str:
    speed = one.tokens_per_second
    timed = "" if speed is None else f", {number(speed)} tokens/s"
    return (
        f"{one.named()}, {one.source.heading}: weights {gb(one.weights)}, peak {gb(one.peak)} GB"
        f"{timed}"
    )


def draw(inputs: Inputs) -> Picture:
    """FP16 takes what BF16 does; other targets have the table."""
    found = load_lora(inputs)
    cases = [own for own in found.cases if own[0].base != "fp16" and not own[0].targets]
    every = [one for own in cases for one in own]
    places, title = bars.places(map(len, cases)), _finding(cases)
    timed = any(one.tokens_per_second for one in every)
    figure = style.new_figure(_AROUND_INCHES + _BAR_INCHES * places.end, title)
    panels = figure.subplots(1, 1 + timed, sharey=True, squeeze=False)[0]
    draws = ((_memory, "Weights, and the peak above them", "GB"), (_speed, "Speed", "tokens/s"))
    for axes, (draw_one, heading, unit) in zip(panels, draws, strict=False):
        for start, own in zip(places.starts, cases, strict=True):
            for j, one in enumerate(own):
                draw_one(axes, start + j + 0.5, one)
        axes.set_title(heading)
        axes.set_xlabel(unit)
        axes.set_xlim(0, _ROOM * axes.dataLim.x1)
        axes.xaxis.set_major_locator(MaxNLocator(_TICKS))
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
        axes.tick_params(length=0)
    places.name(panels[0], [own[0].named() for own in cases])
    sources = {one.source for own in found.cases for one in own}
    style.key_of(figure, [source for source in SOURCES if source in sources])
    note = (
        f"{found.what(',')}, by what the frozen weights are stored in and what is checkpointed. "
        "Strong are the weights, pale what stands beside them at the peak. Where there is no bar "
        "of speed nobody timed it."
    )
    said = [_said(one) for one in every]
    return drawn(inputs, "lora", title, figure, said=said, rows=found.pattern, note=note)
