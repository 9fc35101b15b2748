"""Table 4's last two columns, measured: what GPUs send each other, and how much more they do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from matplotlib.axes import Axes

from vramfit_plots.captions import command
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs, Reading
from vramfit_plots.rows import FAMILY, NAMES, PER_PARAMETER, STRATEGIES, Spread, spread
from vramfit_plots.sources import MEASURED, PREDICTED, TIMED, Source
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import MINUS, gb, in_words, number, percent, share, times

PATTERN = f"^{FAMILY}/"
# What of the parameters' bytes P a rank sends in a step, as rings of N ranks do.
_SHARDED = f"gradients scattered, parameters gathered: 2 (N{MINUS}1)/N P"
_SENT = {
    "ddp": f"gradients summed: 2 (N{MINUS}1)/N P",
    "zero1": _SHARDED,
    "zero2": _SHARDED,
    "fsdp": f"parameters gathered twice, gradients scattered: 3 (N{MINUS}1)/N P",
    "pipeline": "activations and their gradients, between stages",
}
_BAR_INCHES, _AROUND_INCHES = 0.24, 1.6
_THICKNESS = 0.86
_ROOM = 1.2  # for the figures at the bars' ends
_COLUMNS = 2


class Each(Reading):
    """What each of several GPUs takes and does, as one source has it."""

    @cached_property
    def spread(self) -> Spread:
        return spread(self.row)

    @property
    def out_of_memory(self) -> bool:
        """Whether it was run and did not end; its figures are then those of how far it came."""
        run = self.source is MEASURED and self.allocated is not None
        return run and bool(self.inputs.value(self.row, "oom"))


class Scaling(Each):
    """One side's measured speed on several GPUs."""

    def _own(self, counter: str) -> float | None:
        """vramfit's alone."""
        return self.inputs.value(self.row, counter) if self.source is MEASURED else None

    @property
    def alone(self) -> float | None:
        """Tokens a second of one GPU on the same work."""
        one, training = self.spread.alone.row, self.spread.training
        return self._speed_of(one) or self._speed_of(training)

    def _speed_of(self, row: str) -> float | None:
        return self.inputs.speeds(row).get(self.source)

    @property
    def exposed(self) -> float | None:
        """Share of a step in which communication is not hidden."""
        one, seconds = self.spread, self._own("exposed_seconds")
        whole = 1 if one.strategy == "pipeline" else one.gpus  # batches that a step is of
        step = one.batch * one.seq * one.micro_batches * whole / self.tokens_per_second
        return None if seconds is None else seconds / step

    @property
    def bubble(self) -> float | None:
        """Of a pipeline, share of a step."""
        return self._own("bubble")

    @property
    def predicted_bubble(self) -> float | None:
        return self._own("pred_bubble")

    @property
    def ratio(self) -> float | None:
        return self.alone and self.tokens_per_second / self.alone

    @property
    def efficiency(self) -> float | None:
        """Of N times one GPU's throughput."""
        return self.ratio and self.ratio / self.spread.gpus


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


def scaling(inputs: Inputs, one: Spread, source: Source) -> Scaling | None:
    """None where nobody timed it."""
    found = Scaling(inputs, one.row, source)
    return found if found.tokens_per_second else None


def every_scaling(inputs: Inputs) -> Iterator[Scaling]:
    found = (scaling(inputs, one, source) for one in every_spread(inputs) for source in TIMED)
    return filter(None, found)


def named(one: Spread) -> str:
    """ "FSDP / ZeRO-3 on 2 GPUs", and below it of what."""
    size = times(one.batch, one.seq)
    micro = [f"{one.micro_batches} micro-batches"] if one.micro_batches > 1 else []
    whose = ", ".join([f"{one.model} {one.precision} {one.optimizer}", size, *micro, *one.form])
    return f"{NAMES.get(one.strategy, one.strategy)} on {one.gpus} GPUs\n{whose}"


@dataclass(frozen=True)
class _Sent:
    """Bytes that one GPU sends the others in a step."""

    spread: Spread
    predicted: float | None
    measured: float | None

    @property
    def off(self) -> float | None:
        known = self.measured is not None and self.predicted
        return self.measured / self.predicted - 1 if known else None


def _every_sent(inputs: Inputs) -> list[_Sent]:
    """Once what is the same; what was measured stands for it."""
    models = list(inputs.models)
    every = [
        _Sent(one, *(inputs.of(one.row, source, "sent") for source in (PREDICTED, MEASURED)))
        for one in every_spread(inputs)
    ]
    every.sort(key=lambda s: (models.index(s.spread.model), s.spread.gpus, s.measured is None))
    found: dict[tuple, _Sent] = {}
    for sent in every:
        # The optimizer is at home on each GPU, and only a pipeline sends what a batch makes.
        one = sent.spread
        size = one.batch * one.micro_batches if one.strategy == "pipeline" else 0
        found.setdefault((one.model, one.strategy, one.gpus, size), sent)
    return [sent for sent in found.values() if (sent.predicted, sent.measured) != (None, None)]


_OF_SENT = (
    Column("strategy", lambda sent: named(sent.spread)),
    Column("what is sent", lambda sent: _SENT[sent.spread.strategy], text=True),
    Column("predicted\nGB", "predicted", gb, 2),
    Column("measured\nGB", "measured", gb, 2),
    Column("measured\nagainst it", "off", percent, 2),
)
_OF_SCALING = (
    Column("strategy", lambda one: named(one.spread)),
    Column("whose", "source.heading", text=True),
    Column("tokens/s\nof all GPUs", "tokens_per_second", number),
    Column("tokens/s\nof one GPU", "alone", number),
    Column("times\none GPU", "ratio", number, 2),
    Column("of N times", "efficiency", share),
    Column("not hidden\nof a step", "exposed", share),
    Column(f"bubble\n(p{MINUS}1)/(m+p{MINUS}1)", "predicted_bubble", share),
    Column("bubble\nmeasured", "bubble", share),
)


def build(inputs: Inputs) -> list[Table]:
    rows = command(inputs, PATTERN)
    return [
        listing("table4_communication", _OF_SENT, _every_sent(inputs), rows),
        listing("table4_scaling", _OF_SCALING, every_scaling(inputs), rows),
    ]


_Groups = dict[str, list[Scaling]]  # by strategy


def _panels(found: Sequence[Scaling]) -> dict[str, _Groups]:
    """By what is trained on how many GPUs; of pipelines' micro-batches the most."""
    panels: dict[str, _Groups] = {}
    for one in found:
        spread = one.spread
        what = f"{spread.model}, {times(spread.batch, spread.seq)}, {spread.gpus} GPUs"
        group = panels.setdefault(what, {}).setdefault(spread.strategy, [])
        same = [other for other in group if other.source is one.source]
        if not same:
            group.append(one)
        elif same[0].spread.micro_batches < spread.micro_batches:
            group[group.index(same[0])] = one
    return panels


def _panel(axes: Axes, title: str, groups: _Groups, height: float) -> None:
    """`height` in bars, of the panel that has most of them."""
    places, names = bars.places(map(len, groups.values())), []
    for y, one in bars.each(groups.values(), places):
        axes.barh(y, one.ratio, _THICKNESS, **style.BY_SOURCE[one.source.key].bar())
        text = f"{number(one.ratio, 2)}  {number(one.tokens_per_second)}/s"
        color = style.ON_BAR_OF[one.source.side]
        style.say(axes, text, (0, y), (4, 0), va="center", size=8, color=color, strong=True)
    for strategy, own in groups.items():
        micro = own[0].spread.micro_batches
        name = NAMES[strategy].replace(" / ", " /\n")
        names.append(name + (f",\nm = {micro}" if micro > 1 else ""))
    gpus = own[0].spread.gpus
    axes.axvline(gpus, color=style.INK, linewidth=0.9, linestyle="--")
    places.name(axes, names, height)
    axes.set_xlim(0, _ROOM * gpus)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("times one GPU's tokens a second")
    axes.tick_params(length=0)


def _finding(found: Sequence[Scaling]) -> str:
    """Of each side the least and the most of N times one GPU's throughput."""
    said = []
    for side in dict.fromkeys(one.side for one in found):
        shares = [one.efficiency for one in found if one.side == side]
        ends = dict.fromkeys(share(end, 0) for end in (min(shares), max(shares)))
        said.append(f"{' to '.join(ends)} in {side}")
    return f"N GPUs do {in_words(said)} of N times one GPU's throughput"


def draw(inputs: Inputs) -> Picture:
    found = [one for one in every_scaling(inputs) if one.ratio is not None and not one.spread.form]
    if not found:
        raise AbsentError(f"{FAMILY}/* that are timed beside one GPU")
    panels = _panels(found)
    shown = [
        (what, one) for what, groups in panels.items() for own in groups.values() for one in own
    ]
    title = _finding([one for _, one in shown])
    columns = min(_COLUMNS, len(panels))
    most = max(bars.places(map(len, groups.values())).end for groups in panels.values())
    lines = -(-len(panels) // columns)
    height = _AROUND_INCHES + lines * (0.4 + _BAR_INCHES * (most + bars.NARROW))
    figure = style.new_figure(height, title)
    every = style.grid(figure, len(panels), columns)
    for axes, (what, groups) in zip(every, panels.items(), strict=True):
        _panel(axes, what, groups, most)
    sources = {one.source for _, one in shown}
    style.key_of(figure, [source for source in TIMED if source in sources])
    said = [
        f"{NAMES[one.spread.strategy]}, {what}, {one.source.heading}: {number(one.ratio, 2)} times"
        for what, one in shown
    ]
    return drawn(inputs, "scaling", title, figure, said)
