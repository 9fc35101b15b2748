"""Training adapters by what the base is stored in: memory, and how fast it is."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from vramfit_plots.captions import caption, signature
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.lora import Lora, Trained, adapters, load_lora
from vramfit_plots.sources import SOURCES
from vramfit_plots.units import GB, gb, gigabytes, in_words, number

_BAR_INCHES, _AROUND_INCHES = 0.17, 1.2
_THICKNESS = 0.86  # of a bar's place
_BETWEEN = 0.6  # of a bar's place, between two rows
_ROOM = 1.22  # for the figures at the bars' ends
_TICKS = 4  # at most: figures of five digits stand below
_BESIDE_WEIGHTS = 0.45  # how strong what is no weight is drawn


def _name(one: Trained, form: str = "{}, {}") -> str:
    plain = one.checkpointing == "none"
    return one.base if plain else form.format(one.base, one.checkpointing)


def _places(cases: Sequence[Sequence[Trained]]) -> list[float]:
    """Where each row begins, in bars from the top; behind the last, where it ends."""
    places, at = [], 0.0
    for own in cases:
        places.append(at)
        at += len(own) + _BETWEEN
    return [*places, at - _BETWEEN]


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
        least = min(every, key=lambda one: one.peak)
        names = [_name(one, "{} with {} checkpointing") for one in (every[0], least)]
        peaks = [gigabytes(one.peak) for one in (every[0], least)]
        ends = (f"{peak} over {name}" for peak, name in zip(peaks, names, strict=True))
        said.append(f"{in_words(dict.fromkeys(ends))} in {side}")
    return f"LoRA takes {', '.join(said)}"


def _shown(found: Lora) -> list[list[Trained]]:
    """FP16 takes what BF16 does; other targets have the table."""
    return [own for own in found.cases if own[0].base != "fp16" and not own[0].targets]


def _said(one: Trained) -> str:
    speed = one.tokens_per_second
    timed = "" if speed is None else f", {number(speed)} tokens/s"
    return (
        f"{_name(one)}, {one.source.heading}: weights {gb(one.weights)}, peak {gb(one.peak)} GB"
        f"{timed}"
    )


def draw(inputs: Inputs) -> Picture:
    found = load_lora(inputs)
    cases = _shown(found)
    *starts, end = _places(cases)
    timed = any(one.tokens_per_second for own in cases for one in own)
    title = _finding(cases)
    figure = style.new_figure(_AROUND_INCHES + _BAR_INCHES * end, title)
    panels = figure.subplots(1, 1 + timed, sharey=True, squeeze=False)[0]
    draws = ((_memory, "Weights, and the peak above them", "GB"), (_speed, "Speed", "tokens/s"))
    for axes, (draw_one, heading, unit) in zip(panels, draws, strict=False):
        for start, own in zip(starts, cases, strict=True):
            for j, one in enumerate(own):
                draw_one(axes, start + j + 0.5, one)
        axes.set_title(heading)
        axes.set_xlabel(unit)
        axes.set_xlim(0, _ROOM * axes.dataLim.x1)
        axes.xaxis.set_major_locator(MaxNLocator(_TICKS))
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
        axes.tick_params(length=0)
    middles = [start + len(own) / 2 for start, own in zip(starts, cases, strict=True)]
    panels[0].set_yticks(middles, [_name(own[0]) for own in cases])
    panels[0].set_ylim(end + _BETWEEN / 2, -_BETWEEN / 2)
    shown = [source for source in SOURCES if source in found.sources]
    looks = [(source.heading, style.BY_SOURCE[source.key].patch()) for source in shown]
    style.key(figure, looks, len(looks))
    case = inputs.run.parse(found.row)
    return Picture(
        key="lora",
        title=title,
        alt="; ".join(_said(one) for own in cases for one in own),
        caption=caption(
            inputs,
            found.pattern,
            f"Training {case.text('model')} with LoRA of {adapters(inputs, found.row)}, batch "
            f"{case.text('batch')} of {case.text('seq')} tokens, by what the frozen weights are "
            "stored in and what is checkpointed. Strong are the weights, pale what stands beside "
            "them at the peak. Where there is no bar of speed nobody timed it.",
        ),
        figure=figure,
        signature=signature(inputs),
    )
