"""Memory of inference against batch x sequence, by what the weights are stored in."""

from collections.abc import Mapping

from matplotlib.axes import Axes

from vramfit_plots.captions import caption, signature
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.precisions import (
    BASE,
    BATCH_BY_SEQUENCE,
    CACHE,
    WEIGHTS,
    Point,
    Precisions,
    load_precisions,
)
from vramfit_plots.units import GB, gb, percent

_LOOKS = {
    "weights": style.BY_CATEGORY[WEIGHTS],
    "KV cache": style.BY_CATEGORY[CACHE],
    "activations, workspace and inputs": style.BY_CATEGORY["activations"],
}
_ROOM = 1.2  # for the figures at the bars' ends
_BAR_INCHES, _PANEL_INCHES, _AROUND_INCHES = 0.21, 0.45, 1.0
_COLUMNS = 2


def _parts(found: Precisions, precision: str, point: Point) -> Mapping[str, float]:
    """What a peak is made of, by the legend's names."""
    peak, weights, cache = (
        found.bytes(precision, point, counter) for counter in ("allocated", WEIGHTS, CACHE)
    )
    return dict(zip(_LOOKS, (weights, cache, peak - weights - cache), strict=True))


def _draw_point(axes: Axes, found: Precisions, point: Point) -> float:
    """The longest bar comes back."""
    longest = 0.0
    for y, precision in enumerate(found.precisions):
        end = 0.0
        for name, part in _parts(found, precision, point).items():
            axes.barh(y, part / GB, 0.8, end / GB, **_LOOKS[name].bar())
            end += part
        style.say(axes, gb(end), (end / GB, y), (4, 0), va="center", strong=True)
        longest = max(longest, end)
    axes.set_ylim(len(found.precisions) - 0.4, -0.6)
    axes.set_title(f"{point.text} tokens")
    axes.tick_params(length=0)
    axes.spines["left"].set_color(style.INK)
    return longest


def _finding(found: Precisions) -> str:
    """The smallest weights against 16 bits, at the last point."""
    least, last = found.precisions[-1], found.points[-1]
    stored = found.weights(least) / found.weights(BASE)
    peak, base = (found.bytes(p, last, "allocated") for p in (least, BASE))
    return (
        f"{least} stores the weights in {percent(stored, 0, signed=False)} of {BASE}'s bytes; at "
        f"{last.text} tokens it takes {percent(peak / base, 0, signed=False)} of its memory, as "
        "the cache stays as it is"
    )


def draw(inputs: Inputs) -> Picture:
    found = load_precisions(inputs)
    title, lines = _finding(found), -(-len(found.points) // _COLUMNS)
    height = _AROUND_INCHES + lines * (_PANEL_INCHES + _BAR_INCHES * len(found.precisions))
    figure = style.new_figure(height, title)
    panels = figure.subplots(lines, _COLUMNS, sharex=True, sharey=True, squeeze=False)
    every = list(panels.flat)
    longest = max(
        _draw_point(axes, found, point) for axes, point in zip(every, found.points, strict=False)
    )
    for axes in every[len(found.points) :]:
        axes.set_visible(False)
    every[0].set_yticks(range(len(found.precisions)), found.precisions)
    every[0].set_xlim(0, _ROOM * longest / GB)
    for axes in panels[-1]:
        axes.set_xlabel("peak memory allocated, GB")
    style.key(figure, [(name, look.patch()) for name, look in _LOOKS.items()], len(_LOOKS))
    said = [
        f"{precision}, {point.text} tokens: {gb(found.bytes(precision, point, 'allocated'))}"
        for point in found.points
        for precision in found.precisions
    ]
    return Picture(
        key="precisions",
        title=title,
        alt="; ".join(said) + " GB",
        caption=caption(
            inputs,
            found.pattern,
            f"{found.model}, {BATCH_BY_SEQUENCE}, {found.source.heading}. GB is 1e9 bytes. "
            f"fp16 takes what {BASE} does.",
        ),
        figure=figure,
        signature=signature(inputs),
    )
