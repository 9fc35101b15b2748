"""What PyTorch and vramfit take beyond their tensors, beside the article's 10 to 20 %."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from vramfit_plots.captions import Caption, signature
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.levels import (
    LEAST,
    Spread,
    article_range,
    measured_levels,
    pytorch_spread,
    spread,
)
from vramfit_plots.units import gigabytes, in_words, number, percent

_BIN, _WIDEST = 2, 60  # percent; what is beyond stands in the last bin


def _ours(inputs: Inputs) -> Spread | None:
    try:
        return spread(inputs, [levels.share for levels in measured_levels(inputs)])
    except AbsentError:
        return None


def _histogram(axes: Axes, name: str, found: Spread, look: style.Look, right: float) -> None:
    shares = [min(100 * share, right - _BIN / 2) for share in found.shares]
    edges = range(0, int(right) + _BIN, _BIN)
    axes.hist(shares, bins=list(edges), **look.bar())
    middle = 100 * found.median
    axes.axvline(middle, color=style.INK, linewidth=1.5)
    top = 1.2 * axes.get_ylim()[1]
    axes.set_ylim(0, top)
    text = f"median {percent(found.median, signed=False)}"
    style.say(axes, text, (middle, top), (4, -9), strong=True)
    axes.set_title(name)
    axes.set_ylabel("how many")
    axes.tick_params(length=0)


def _finding(inputs: Inputs, both: Sequence[tuple[str, Spread]]) -> str:
    low, high = article_range(inputs)
    medians = in_words(f"{percent(s.median, signed=False)} in {side}" for side, s in both)
    claimed = f"{number(100 * low)} to {percent(high, 0, signed=False)}"
    return f"Beyond tensors a run takes {medians} (medians); the article says {claimed}"


def draw(inputs: Inputs) -> Picture:
    theirs, ours = pytorch_spread(inputs), _ours(inputs)
    both = [("PyTorch", theirs), *([("vramfit", ours)] if ours else [])]
    title = _finding(inputs, both)
    right = min(100 * max(share for _, one in both for share in one.shares) + _BIN, _WIDEST)
    figure = style.new_figure(0.9 + 1.5 * len(both), title)
    every = figure.subplots(len(both), 1, sharex=True, squeeze=False)[:, 0]
    titles = {
        "PyTorch": f"PyTorch, {theirs.count} cases over {gigabytes(LEAST, 0)}",
        "vramfit": f"vramfit, {ours.count if ours else 0} rows",
    }
    looks = {"PyTorch": style.TORCH_MEASURED, "vramfit": style.MEASURED}
    for axes, (side, one) in zip(every, both, strict=True):
        axes.axvspan(*(100 * share for share in article_range(inputs)), color="#e6e6e6", zorder=0)
        _histogram(axes, titles[side], one, looks[side], right)
        axes.set_xlim(0, right)
    every[-1].set_xlabel("lost beyond the peak allocated, % of it (grey: the article's range)")
    said = [
        f"{side}: {one.below} below the article's range, {one.within} within, {one.above} above"
        for side, one in both
    ]
    return Picture(
        key="levels",
        title=title,
        alt="; ".join(said),
        caption=Caption(
            "What the card lost beyond the peak allocated to tensors, as a share of it: rounding "
            "and gaps in the pool, context and libraries."
        ),
        figure=figure,
        signature=signature(inputs),
    )
