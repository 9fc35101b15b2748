"""Table 4's last two columns, measured: what GPUs send each other, and how much more they do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.inputs import Inputs
from vramfit_plots.several_gpus import FAMILY, NAMES, PER_PARAMETER, STRATEGIES, Spread, spread
from vramfit_plots.sources import MEASURED, PREDICTED, TIMED, Source
from vramfit_plots.tables.table import Column, Table, listing
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


@dataclass(frozen=True)
class Scaling:
    """One side's measured speed on several GPUs."""

    spread: Spread
    source: Source
    tokens_per_second: float
    alone: float | None  # of one GPU on the same work
    exposed: float | None  # share of a step in which communication is not hidden
    bubble: float | None  # of a pipeline, share of a step
    predicted_bubble: float | None

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
    run = inputs.of(one.row, MEASURED, "allocated") is not None
    return source is MEASURED and run and bool(inputs.value(one.row, "oom"))


def _exposed(inputs: Inputs, one: Spread, speed: float) -> float | None:
    seconds = inputs.value(one.row, "exposed_seconds")
    whole = 1 if one.strategy == "pipeline" else one.gpus  # batches that a step is of
    step = one.batch * one.seq * one.micro_batches * whole / speed
    return None if seconds is None else seconds / step


def scaling(inputs: Inputs, one: Spread, source: Source) -> Scaling | None:
    """None where nobody timed it."""
    speed = inputs.speed(one.row, source)
    if not speed:
        return None
    alone = inputs.speed(one.alone.row, source) or inputs.speed(one.training, source)
    exposed, bubble, predicted = None, None, None
    if source is MEASURED:
        exposed = _exposed(inputs, one, speed)
        bubble, predicted = (inputs.value(one.row, name) for name in ("bubble", "pred_bubble"))
    return Scaling(one, source, speed, alone, exposed, bubble, predicted)


def every_scaling(inputs: Inputs) -> Iterator[Scaling]:
    for one in every_spread(inputs):
        for source in TIMED:
            if found := scaling(inputs, one, source):
                yield found


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
    sent = (
        "GB (1e9 bytes) that one GPU sends the others in a training step. Predicted as rings of N "
        "GPUs send, P being the parameters' bytes; measured by NVLink's own counters."
    )
    scaled = (
        "Of one GPU: the same micro-batches on it alone. Not hidden is how long a step's kernels "
        "wait for communication, of the step. The bubble is the share of a step in which one of p "
        "stages waits for the others, of m micro-batches."
    )
    below_sent, below_scaled = (caption(inputs, PATTERN, note) for note in (sent, scaled))
    of_sent = "Table 4's communication: what a GPU sends in a step"
    of_scaling = "Table 4's scaling: tokens a second against one GPU"
    return [
        listing("table4_communication", of_sent, _OF_SENT, _every_sent(inputs), below_sent),
        listing("table4_scaling", of_scaling, _OF_SCALING, every_scaling(inputs), below_scaled),
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
    for start, (strategy, own) in zip(places.starts, groups.items(), strict=True):
        for j, one in enumerate(own):
            y = start + j + 0.5
            axes.barh(y, one.ratio, _THICKNESS, **style.BY_SOURCE[one.source.key].bar())
            text = f"{number(one.ratio, 2)}  {number(one.tokens_per_second)}/s"
            style.say(axes, text, (0, y), (4, 0), va="center", size=8, color="white", strong=True)
        micro = own[0].spread.micro_batches
        names.append(
            NAMES[strategy].replace(" / ", " /\n") + (f",\nm = {micro}" if micro > 1 else "")
        )
    gpus = own[0].spread.gpus
    axes.axvline(gpus, color=style.INK, linewidth=0.9, linestyle="--")
    places.name(axes, names, height)
    axes.set_xlim(0, _ROOM * gpus)
    axes.set_title(title, fontsize=9)
    axes.tick_params(length=0)


def _finding(found: Sequence[Scaling]) -> str:
    """Of each side the least and the most of N times one GPU's throughput."""
    said = []
    for side in dict.fromkeys(one.source.side for one in found):
        shares = [one.efficiency for one in found if one.source.side == side]
        ends = dict.fromkeys(share(end, 0) for end in (min(shares), max(shares)))
        said.append(f"{' to '.join(ends)} in {side}")
    return f"N GPUs do {in_words(said)} of N times one GPU's throughput"


def draw(inputs: Inputs) -> Picture:
    found = [one for one in every_scaling(inputs) if one.ratio is not None and not one.spread.form]
    if not found:
        raise AbsentError(f"{FAMILY}/* that are timed beside one GPU")
    panels = _panels(found)
    shown = {
        what: [one for own in groups.values() for one in own] for what, groups in panels.items()
    }
    title = _finding([one for own in shown.values() for one in own])
    lines = -(-len(panels) // _COLUMNS)
    most = max(bars.places(map(len, groups.values())).end for groups in panels.values())
    height = _AROUND_INCHES + lines * (0.4 + _BAR_INCHES * (most + bars.NARROW))
    figure = style.new_figure(height, title)
    every = list(figure.subplots(lines, min(_COLUMNS, len(panels)), squeeze=False).flat)
    for axes, (what, groups) in zip(every, panels.items(), strict=False):
        _panel(axes, what, groups, most)
        axes.set_xlabel("times one GPU's tokens a second")
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    sources = {one.source for own in shown.values() for one in own}
    style.key_of(figure, [source for source in TIMED if source in sources])
    said = [
        f"{NAMES[one.spread.strategy]}, {what}, {one.source.heading}: {number(one.ratio, 2)} times"
        for what, own in shown.items()
        for one in own
    ]
    note = (
        "Measured tokens a second of all GPUs over those of one on the same micro-batches; dashed "
        "is N times. Each GPU has the batch in the title, but a pipeline's have it together, m "
        "times a step."
    )
    return drawn(inputs, "scaling", title, figure, said=said, rows=PATTERN, note=note)
