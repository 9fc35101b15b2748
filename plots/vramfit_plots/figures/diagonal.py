"""Axes of what was measured against what was said, both in GB: equal is on the diagonal."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from vramfit_plots.figures import style


def begin(axes: Axes, low: float, high: float) -> None:
    """Before what is drawn on it."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot([low, high], [low, high], color=style.FAINT, linewidth=0.8, zorder=1)


def finish(axes: Axes, low: float, high: float, sizes: Sequence[float]) -> None:
    """`sizes`: those that are written on either axis."""
    for axis, limits in ((axes.xaxis, axes.set_xlim), (axes.yaxis, axes.set_ylim)):
        limits(low, high)
        axis.set_major_locator(FixedLocator([size for size in sizes if low <= size <= high]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_aspect("equal")
    axes.grid()
    axes.tick_params(length=0)
