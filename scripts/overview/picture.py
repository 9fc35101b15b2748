"""The points as README shows them: on the diagonal, and each runtime's errors beside it."""

import random
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.units import GB, MINUS, number, percent

from overview.points import Runtime

_WIDTH, _HEIGHT = 8.3, 3.7  # inches: as wide as a README is shown, 830 px
_SIZES = (1, 2, 5, 10, 20, 50, 100)  # GB
_MARGIN = 1.2
_NEAR = 0.01
_ERRORS = (-0.1, -0.01, 0, 0.01, 0.1)
_LINEAR = 1e-2  # errors below that, either way, are to scale
_SPREAD = 0.3  # of dots about their line, which says nothing
_DOT = {"linestyle": "none", "markeredgecolor": "white", "markeredgewidth": 0.35}


def _diagonal(axes: Axes, runtimes: Sequence[Runtime]) -> None:
    every = [p for runtime in runtimes for p in runtime.points]
    low = min(min(p.measured, p.predicted) for p in every) / GB / _MARGIN
    high = max(max(p.measured, p.predicted) for p in every) / GB * _MARGIN
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    axes.plot([low, high], [low, high], color=style.FAINT, linewidth=0.8, zorder=1)
    for runtime, (color, marker) in zip(runtimes, style.curves(len(runtimes)), strict=True):
        measured = [p.measured / GB for p in runtime.points]
        predicted = [p.predicted / GB for p in runtime.points]
        axes.plot(measured, predicted, marker, color=color, markersize=5, zorder=3, **_DOT)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(_SIZES))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.grid()
    axes.tick_params(length=0)
    axes.set_xlabel("measured on the GPU, GB")
    axes.set_ylabel("predicted, GB")


def _errors(axes: Axes, runtimes: Sequence[Runtime]) -> None:
    axes.axvspan(-_NEAR, _NEAR, color="#f0f0f0", linewidth=0, zorder=0)
    axes.set_xscale("symlog", linthresh=_LINEAR, linscale=1.2)
    drawn = random.Random(1)  # so that the same figures make the same file
    looks = style.curves(len(runtimes))
    for line, (runtime, (color, marker)) in enumerate(zip(runtimes, looks, strict=True)):
        high = [line + drawn.uniform(-_SPREAD, _SPREAD) for _ in runtime.points]
        errors = [p.error for p in runtime.points]
        axes.plot(errors, high, marker, color=color, markersize=4.5, zorder=3, **_DOT)
    axes.xaxis.set_major_locator(FixedLocator(_ERRORS))
    axes.xaxis.set_minor_locator(NullLocator())
    words = [f"{100 * error:+g}".replace("-", MINUS) if error else "0" for error in _ERRORS]
    axes.set_xticklabels(words)
    most = max(abs(runtime.worst) for runtime in runtimes)
    axes.set_xlim(-most * 1.5, most * 1.5)
    axes.set_ylim(len(runtimes) - 0.5, -0.5)
    axes.set_yticks(range(len(runtimes)), [f"{r.name}\n{r.asked}" for r in runtimes])
    for label, (color, _) in zip(axes.get_yticklabels(), looks, strict=True):
        label.set(color=color, weight="bold", fontsize=9)
    axes.grid(axis="x")
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel("error, %")
    axes.set_title("Within 1 %: shaded, and counted", loc="right")
    counts = axes.secondary_yaxis("right")
    told = [f"{r.within(_NEAR)} of {len(r.points)}" for r in runtimes]
    counts.set_yticks(range(len(runtimes)), told)
    counts.tick_params(length=0)
    counts.spines["right"].set_visible(False)


def _title(runtimes: Sequence[Runtime]) -> str:
    cases = sum(len(runtime.points) for runtime in runtimes)
    near = sum(runtime.within(_NEAR) for runtime in runtimes)
    share = percent(_NEAR, 0, signed=False)
    return (
        f"Of {number(cases)} runs on real GPUs, {number(near)} took what vramfit says, to within "
        f"{share}: all the memory that the card lost, driver and libraries too"
    )


def told(runtimes: Sequence[Runtime]) -> str:
    """The figures, for those who do not see the picture."""
    each = "; ".join(
        f"{r.name}: {r.within(_NEAR)} of {len(r.points)}, at worst {percent(r.worst, 1)}"
        for r in runtimes
    )
    return f"{_title(runtimes)}. {each}".replace("\N{NO-BREAK SPACE}", " ")


def draw(runtimes: Sequence[Runtime]) -> Picture:
    title = _title(runtimes)
    figure = style.new_figure(_HEIGHT, title, _WIDTH)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.05))
    _diagonal(left, runtimes)
    _errors(right, runtimes)
    return Picture(
        key="overview",
        title=title,
        alt=told(runtimes),
        note="GB is 1e9 bytes: all that the card lost to the process.",
        figure=figure,
        signature="vramfit: make overview; measured on NVIDIA H200s",
    )
