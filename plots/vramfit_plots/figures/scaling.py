"""How many times one GPU's throughput several GPUs reach."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from vramfit_plots.captions import caption, signature
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.scaling import TIMED, Scaling, every_scaling
from vramfit_plots.several_gpus import FAMILY, NAMES
from vramfit_plots.units import in_words, number, percent, times

_BAR_INCHES, _AROUND_INCHES = 0.24, 1.6
_THICKNESS = 0.86
_BETWEEN = 0.6  # of a bar's place, between two strategies
_ROOM = 1.2  # for the figures at the bars' ends
_COLUMNS = 2

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
    names, middles, at, gpus = [], [], 0.0, 1
    for strategy, own in groups.items():
        for j, one in enumerate(own):
            gpus = one.spread.gpus
            y = at + j + 0.5
            axes.barh(y, one.ratio, _THICKNESS, **style.BY_SOURCE[one.source.key].bar())
            text = f"{number(one.ratio, 2)}  {number(one.tokens_per_second)}/s"
            style.say(axes, text, (0, y), (4, 0), va="center", size=8, color="white", strong=True)
        micro = own[0].spread.micro_batches
        names.append(
            NAMES[strategy].replace(" / ", " /\n") + (f",\nm = {micro}" if micro > 1 else "")
        )
        middles.append(at + len(own) / 2)
        at += len(own) + _BETWEEN
    axes.axvline(gpus, color=style.INK, linewidth=0.9, linestyle="--")
    axes.set_yticks(middles, names)
    axes.set_ylim(height - _BETWEEN / 2, -_BETWEEN / 2)
    axes.set_xlim(0, _ROOM * gpus)
    axes.set_title(title, fontsize=9)
    axes.tick_params(length=0)


def _finding(found: Sequence[Scaling]) -> str:
    """Of each side the least and the most of N times one GPU's throughput."""
    said = []
    for side in dict.fromkeys(one.source.side for one in found):
        shares = [one.efficiency for one in found if one.source.side == side]
        low, high = (percent(end(shares), 0, signed=False) for end in (min, max))
        said.append(f"{low} to {high} in {side}" if low != high else f"{low} in {side}")
    return f"N GPUs do {in_words(said)} of N times one GPU's throughput"


def draw(inputs: Inputs) -> Picture:
    found = [one for one in every_scaling(inputs) if one.ratio is not None and not one.spread.form]
    if not found:
        raise AbsentError(f"{FAMILY}/* that are timed beside one GPU")
    panels, title = _panels(found), _finding(found)
    shown = [one for groups in panels.values() for own in groups.values() for one in own]
    lines = -(-len(panels) // _COLUMNS)
    most = max(sum(len(own) + _BETWEEN for own in groups.values()) for groups in panels.values())
    height = _AROUND_INCHES + lines * (0.4 + _BAR_INCHES * most)
    figure = style.new_figure(height, title)
    every = list(figure.subplots(lines, min(_COLUMNS, len(panels)), squeeze=False).flat)
    for axes, (what, groups) in zip(every, panels.items(), strict=False):
        _panel(axes, what, groups, most)
        axes.set_xlabel("times one GPU's tokens a second")
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    sources = [source for source in TIMED if any(one.source is source for one in shown)]
    looks = [(source.heading, style.BY_SOURCE[source.key].patch()) for source in sources]
    style.key(figure, looks, len(looks))
    said = [
        f"{NAMES[one.spread.strategy]}, {what}, {one.source.heading}: {number(one.ratio, 2)} times"
        for what, groups in panels.items()
        for own in groups.values()
        for one in own
    ]
    return Picture(
        key="scaling",
        title=title,
        alt="; ".join(said),
        caption=caption(
            inputs,
            f"^{FAMILY}/",
            "Measured tokens a second of all GPUs over those of one on the same micro-batches; "
            "dashed is N times. Each GPU has the batch in the title, but a pipeline's have it "
            "together, m times a step.",
        ),
        figure=figure,
        signature=signature(inputs),
    )
