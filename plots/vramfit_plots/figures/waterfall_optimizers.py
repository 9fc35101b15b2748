"""The article's waterfall for every optimizer, a panel each."""

from matplotlib.axes import Axes

from vramfit_plots.captions import caption, signature
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.optimizers import Optimizers, Waterfall, load_optimizers
from vramfit_plots.sources import OURS, SOURCES
from vramfit_plots.units import GB, gb, gigabytes

_COLUMNS = 3
_PANEL_INCHES, _AROUND_INCHES = 1.45, 1.2
_WIDTH = 0.4  # of bars
_KEY_COLUMNS = 2
_ROOM = 1.16  # for the figures above bars


def _bars(axes: Axes, waterfall: Waterfall, highest: float) -> None:
    """After each stage, and the peak, whose figure stands above its bar."""
    ours = waterfall.source in OURS
    look = style.BY_SOURCE[waterfall.source.key]
    values = [*waterfall.after.values(), waterfall.peak]
    places = [i + (-0.5 if ours else 0.5) * _WIDTH for i in range(len(values))]
    axes.bar(places, [value / GB for value in values], _WIDTH, **look.bar())
    inner = places[-1] + (0.5 if ours else -0.5) * _WIDTH
    at, away = (inner, waterfall.peak / GB), (-1 if ours else 1, 2)
    side = "right" if ours else "left"
    style.say(axes, gb(waterfall.peak), at, away, ha=side, size=7.5, strong=ours)
    axes.set_ylim(0, _ROOM * highest / GB)


def _panel(axes: Axes, own: list[Waterfall], highest: float) -> None:
    for waterfall in own:
        _bars(axes, waterfall, highest)
    states = round(own[0].states_per_parameter, 1)
    host = f", {gb(own[0].host)} GB of the host's" if own[0].host else ""
    axes.set_title(f"{own[0].optimizer}, {states:g} B/param{host}", fontsize=9)
    style.level_grid(axes)


def _finding(found: Optimizers, every: list[Waterfall]) -> str:
    """Of both sides the least and the most."""
    said = []
    for side in dict.fromkeys(waterfall.source.side for waterfall in every):
        own = sorted((w for w in every if w.source.side == side), key=lambda w: w.peak)
        ends = " and ".join(f"{gigabytes(w.peak)} with {w.optimizer}" for w in (own[0], own[-1]))
        said.append(f"at {ends} in {side}")
    return f"{found.model} peaks {', '.join(said)}"


def draw(inputs: Inputs) -> Picture:
    found = load_optimizers(inputs)
    labels = [entry["label"].removeprefix("after ") for entry in inputs.article.waterfall["rows"]]
    labels = [*(label.removeprefix("model ") for label in labels), "peak"]
    every = [waterfall for own in found.every for waterfall in own]
    highest, title = max(waterfall.peak for waterfall in every), _finding(found, every)
    lines = -(-len(found.every) // _COLUMNS)
    figure = style.new_figure(_AROUND_INCHES + _PANEL_INCHES * lines, title)
    panels = figure.subplots(lines, _COLUMNS, sharex=True, sharey=True, squeeze=False)
    for axes, own in zip(panels.flat, found.every, strict=False):
        _panel(axes, own, highest)
    for axes in panels.flat[len(found.every) :]:
        axes.set_visible(False)
    for axes in panels[-1]:
        axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=9)
    for axes in panels[:, 0]:
        axes.set_ylabel("GB")
    shown = [source for source in SOURCES if source in {w.source for w in every}]
    looks = [(source.heading, style.BY_SOURCE[source.key].patch()) for source in shown]
    style.key(figure, looks, min(len(looks), _KEY_COLUMNS))
    said = [f"{w.optimizer}, {w.source.heading}: peak {gb(w.peak)}" for w in every]
    return Picture(
        key="waterfall_optimizers",
        title=title,
        alt="; ".join(said) + " GB",
        caption=caption(
            inputs,
            found.pattern,
            f"Training {found.model} in {found.precision.upper()}: GB (1e9 bytes) allocated after "
            "each stage of step 1, and the peak of all steps, whose figure stands above it. "
            "B/param are the optimizer's states in vramfit; PyTorch's have the weights' type.",
        ),
        figure=figure,
        signature=signature(inputs),
    )
