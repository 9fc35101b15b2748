"""What the peak of each of several GPUs is made of, by strategy, beside what cards have."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from vramfit_plots.captions import caption, signature
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.scaling import every_spread, out_of_memory
from vramfit_plots.several_gpus import FAMILY, NAMES, PER_PARAMETER, Spread
from vramfit_plots.sources import MEASURED, PREDICTED, TORCH, Source
from vramfit_plots.units import GB, gb, gigabytes, in_words

_CARDS = ("rtx4090", "a100-40gb", "rtx6000-ada", "h100-80gb", "h200")
_OPTIMIZER = next(iter(PER_PARAMETER))
_BAR_INCHES, _AROUND_INCHES = 0.24, 1.9
_THICKNESS = 0.86
_BETWEEN = 0.6  # of a bar's place, between two strategies
_ROOM = 1.1  # for the figures at the bars' ends
_BEYOND = style.Look("#f2f2f2", "", "#8a8a8a")  # what no tensor takes
_SIDES = ((MEASURED, PREDICTED), (TORCH,))  # of PyTorch nobody measured what a peak is made of


@dataclass(frozen=True)
class _Bar:
    spread: Spread
    source: Source
    parts: dict[str, float]  # by category, bytes
    taken: float  # of the card

    @property
    def allocated(self) -> float:
        return sum(self.parts.values())


def _bar(inputs: Inputs, one: Spread, source: Source) -> _Bar | None:
    taken = inputs.value(one.row, f"{source.prefix}device_used")
    if taken is None or out_of_memory(inputs, one, source):
        return None
    parts = {name: inputs.value(one.row, source.prefix + name) or 0.0 for name in style.BY_CATEGORY}
    return _Bar(one, source, parts, taken)


def _bars(inputs: Inputs, one: Spread) -> list[_Bar]:
    """Of each side the best that is known."""
    found = []
    for sources in _SIDES:
        every = (_bar(inputs, one, source) for source in sources)
        found += [bar for bar in [next((bar for bar in every if bar), None)] if bar]
    return found


def _cases(inputs: Inputs) -> dict[int, list[list[_Bar]]]:
    """Of the article's model, by the number of GPUs, each strategy's."""
    model = inputs.article.multi_gpu["model"]
    cases: dict[int, list[list[_Bar]]] = {}
    for one in every_spread(inputs):
        asked = (one.model, one.optimizer, one.form) == (model, _OPTIMIZER, ())
        if asked and (bars := _bars(inputs, one)):
            cases.setdefault(one.gpus, []).append(bars)
    if not cases:
        raise AbsentError(f"{FAMILY}/{model}/*/{_OPTIMIZER}/*")
    return cases


def _draw_bar(axes: Axes, bar: _Bar, y: float) -> None:
    left = 0.0
    for name, value in bar.parts.items():
        if value > 0:
            axes.barh(y, value / GB, _THICKNESS, left / GB, **style.BY_CATEGORY[name].bar())
        left += value
    beyond = max(0.0, bar.taken - left)
    axes.barh(y, beyond / GB, _THICKNESS, left / GB, **_BEYOND.bar())
    side = "vramfit" if bar.source is not TORCH else "PyTorch"
    end = (max(left, bar.taken) / GB, y)
    style.say(axes, f"{gb(bar.taken)}  {side}", end, (3, 0), va="center", size=8, over_lines=True)


def _panel(axes: Axes, groups: Sequence[Sequence[_Bar]], gpus: int) -> None:
    names, middles, at = [], [], 0.0
    for bars in groups:
        for j, bar in enumerate(bars):
            _draw_bar(axes, bar, at + j + 0.5)
        micro = bars[0].spread.micro_batches
        name = NAMES[bars[0].spread.strategy].replace(" / ", " /\n")
        names.append(name + (f",\n{micro} micro-batches" if micro > 1 else ""))
        middles.append(at + len(bars) / 2)
        at += len(bars) + _BETWEEN
    axes.set_yticks(middles, names)
    axes.set_ylim(at - _BETWEEN / 2, -_BETWEEN / 2)
    axes.tick_params(length=0)
    axes.set_title(f"{gpus} GPUs", pad=16)


def _cards(axes: Axes, inputs: Inputs, end: float) -> None:
    for name in _CARDS:
        vram = inputs.cards[name].vram / GB
        if vram < end:
            axes.axvline(vram, color=style.INK, linewidth=0.9, linestyle="--", zorder=0.5)
            size = inputs.cards[name].vram / 2**30
            label = f"{size:.0f}" + (" GiB" if name == _CARDS[0] else "")
            where = {"xycoords": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
            style.say(axes, label, (vram, 1), (0, 2), size=7.5, faint=True, **where)


def _finding(cases: dict[int, list[list[_Bar]]], model: str) -> str:
    """The least and the most that vramfit takes of a GPU, where there are fewest."""
    gpus = min(cases)
    own = [bars[0] for bars in cases[gpus] if bars[0].source is not TORCH] or [
        bars[0] for bars in cases[gpus]
    ]
    own.sort(key=lambda bar: bar.taken)
    ends = in_words(
        f"{gigabytes(bar.taken)} with {NAMES[bar.spread.strategy]}" for bar in (own[-1], own[0])
    )
    return f"On {gpus} GPUs training {model} takes, of each, {ends}"


def draw(inputs: Inputs) -> Picture:
    cases = _cases(inputs)
    model = inputs.article.multi_gpu["model"]
    every = [bar for groups in cases.values() for bars in groups for bar in bars]
    title = _finding(cases, model)
    heights = [sum(len(bars) + _BETWEEN for bars in groups) for groups in cases.values()]
    figure = style.new_figure(_AROUND_INCHES + _BAR_INCHES * sum(heights), title)
    panels = figure.subplots(
        len(cases), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
    )[:, 0]
    end = _ROOM * max(bar.taken for bar in every) / GB
    for axes, (gpus, groups) in zip(panels, cases.items(), strict=True):
        _panel(axes, groups, gpus)
        _cards(axes, inputs, end)
        axes.set_xlim(0, end)
    panels[-1].set_xlabel("memory of each GPU at the peak, GB")
    seen = {name for bar in every for name, value in bar.parts.items() if value > 0.002 * bar.taken}
    looks: list[tuple[str, Patch]] = [
        (name.replace("_", " "), look.patch())
        for name, look in style.BY_CATEGORY.items()
        if name in seen
    ]
    looks.append(("beyond tensors", _BEYOND.patch()))
    style.key(figure, looks, 4)
    one = every[0].spread
    said = [
        f"{NAMES[bar.spread.strategy]} on {bar.spread.gpus} GPUs, {bar.source.heading}: "
        f"{gb(bar.allocated)} allocated, {gb(bar.taken)} of the card"
        for bar in every
    ]
    return Picture(
        key="sharded",
        title=title,
        alt="; ".join(said) + " GB",
        caption=caption(
            inputs,
            f"^{FAMILY}/",
            f"{model} in {one.precision.upper()} with {one.optimizer}, "
            f"{PER_PARAMETER[one.optimizer]} bytes a parameter, batch {one.batch} of {one.seq} "
            "tokens on each GPU: what its peak is made of, GB (1e9 bytes), and what the card loses "
            f"beyond it. PyTorch's are predicted; vramfit's are {_whose(every)}. "
            "Beyond tensors are pool, context, libraries and NCCL. Dashed lines are cards' sizes.",
        ),
        figure=figure,
        signature=signature(inputs),
    )


def _whose(every: Sequence[_Bar]) -> str:
    """How vramfit's figures came about, by the number of GPUs."""
    own = [bar for bar in every if bar.source is not TORCH]
    measured = sorted({bar.spread.gpus for bar in own if bar.source is MEASURED})
    if not measured:
        return "predicted too"
    if all(bar.source is MEASURED for bar in own):
        return "measured"
    return f"measured on {in_words(map(str, measured))} GPUs, predicted elsewhere"
