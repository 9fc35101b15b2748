"""Memory against time for each way of activation checkpointing, beside what the article claims."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from vramfit_plots.captions import caption, signature
from vramfit_plots.checkpointing import NONE, Pair, load_pairs, of_article
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, OURS
from vramfit_plots.units import gb, number, percent, times

_HEIGHT = 3.9
_WIDE = 2.0  # percent of time: how wide the article's claim is drawn
_ROOM = 1.3  # right of the last point, for its name


def _name(pair: Pair) -> str:
    return pair.forward.way.replace("1 block of ", "1 of ")


def _points(axes: Axes, pairs: Sequence[Pair], share: Callable[[Pair], float]) -> None:
    """Below its point stands the name of where vramfit computes all of a block again."""
    for pair in pairs:
        if pair.time is None:
            continue
        source = pair.forward.source
        at = (100 * pair.time, 100 * share(pair))
        axes.plot(*at, "o", color=style.BY_SOURCE[source.key].color, markersize=6, zorder=3)
        below = pair.forward.way.startswith("full") and source in OURS
        away = (4, -11 if below else 4)
        style.say(axes, _name(pair), at, away, size=8, over_lines=True)


def _line(axes: Axes, pairs: Sequence[Pair], share: Callable[[Pair], float]) -> None:
    """From none through every k-th block to all, for each kind."""
    kinds = dict.fromkeys(pair.forward.way.split(",")[0] for pair in pairs)
    for kind in kinds:
        own = [
            p for p in pairs if p.time is not None and p.forward.way.split(",")[0] in {kind, NONE}
        ]
        own.sort(key=lambda pair: pair.time or 0.0)
        look = style.BY_SOURCE[pairs[0].forward.source.key]
        places = [(100 * (pair.time or 0.0), 100 * share(pair)) for pair in own]
        axes.plot(*zip(*places, strict=True), color=look.color, linewidth=1, alpha=0.6)


def _claim(axes: Axes, inputs: Inputs) -> None:
    memory, time = (inputs.article.claim(f"checkpointing_{part}") for part in ("memory", "time"))
    low, high = 100 / memory["high"], 100 / memory["low"]
    axes.bar(time["value"], high - low, _WIDE, low, **style.ARTICLE.bar())


def draw(inputs: Inputs) -> Picture:
    pairs = of_article(inputs, load_pairs(inputs))
    sides = dict.fromkeys(pair.forward.source for pair in pairs)
    timed = [pair for pair in pairs if pair.time is not None and pair.forward.way != NONE]
    if not timed:
        raise AbsentError(f"{pairs[0].forward.case}/checkpoint:…: tokens_per_second")
    by_side = [[pair for pair in pairs if pair.forward.source is source] for source in sides]
    full = [pair for pair in timed if pair.forward.way == "full"] or timed
    said = [
        f"{number(1 / p.kept, 1)} times less in {p.forward.source.side} for "
        f"{percent(p.time or 0.0, 0, signed=False)} more time"
        for p in full
    ]
    title = f"A forward pass with full checkpointing keeps {', '.join(said)}"
    figure = style.new_figure(_HEIGHT, title)
    left, right = figure.subplots(1, 2, sharex=True)
    panels = (
        (left, "Kept by the forward pass, % of none's", lambda pair: pair.kept),
        (right, "Peak of all steps, % of none's", lambda pair: pair.peak),
    )
    for axes, heading, share in panels:
        axes.set_title(heading)
        for own in by_side:
            _line(axes, own, share)
            _points(axes, own, share)
        axes.set_xlim(-2, _ROOM * 100 * max(pair.time or 0.0 for pair in timed))
        axes.set_ylim(0, 108)
        axes.set_xlabel("more time of a step, %")
        style.level_grid(axes)
    _claim(left, inputs)
    looks = [(source.heading, style.BY_SOURCE[source.key].patch()) for source in sides]
    looks.append((ARTICLE.heading, style.ARTICLE.patch()))
    style.key(figure, looks, len(looks))
    case = inputs.run.parse(pairs[0].forward.case)
    size = times(case.text("batch"), case.text("seq")).strip()
    return Picture(
        key="checkpointing",
        title=title,
        alt="; ".join(
            f"{p.forward.source.heading}, {p.forward.way}: {gb(p.forward.kept, 2)} GB kept, peak "
            f"{gb(p.forward.peak)}" + ("" if p.time is None else f", {percent(p.time, 0)} time")
            for p in pairs
        ),
        caption=caption(
            inputs,
            f"^{pairs[0].forward.case}(/checkpoint:.*)?$",
            f"Training {case.text('model')}, {size} tokens. 1 of 2: every second block is "
            "checkpointed. Where every block computes all again, the peak moves to where the "
            "gradients are, and more checkpointing would not lower it.",
        ),
        figure=figure,
        signature=signature(inputs),
    )
