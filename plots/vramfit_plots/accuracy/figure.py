"""Predicted against measured, our predictions and the formulas."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from vramfit_plots.accuracy.comparison import Accuracy
from vramfit_plots.accuracy.rivals import Rival, rivals, with_peak
from vramfit_plots.accuracy.tables import SIGNATURE, caption
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.units import GB, number, percent

_TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)
_MARGIN = 1.25


@dataclass(frozen=True)
class _Mark:
    shape: str
    color: str


_MARKS = {
    "article": _Mark("s", "#6e6e6e"),
    "deepspeed": _Mark("^", "#D55E00"),
    "accelerate": _Mark("v", "#E69F00"),
    "korthikanti": _Mark("D", "#CC79A7"),
}


def _scatter(axes: Axes, comparison: Accuracy, said: dict[int, float], **how) -> None:
    measured = [comparison.cases[i].peak["peak"] / GB for i in said]
    axes.plot(measured, [value / GB for value in said.values()], linestyle="none", **how)


def _scales(axes: Axes, low: float, high: float) -> None:
    for axis, limits in ((axes.xaxis, axes.set_xlim), (axes.yaxis, axes.set_ylim)):
        limits(low, high)
        axis.set_major_locator(FixedLocator([tick for tick in _TICKS if low <= tick <= high]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.grid()


def _label(name: str, errors: pd.Series, decimals: int) -> str:
    return f"{name}: median error {percent(errors.abs().median(), decimals, signed=False)}"


def _finding(comparison: Accuracy, every: Sequence[Rival]) -> str:
    worst = percent(comparison.errors("peak allocated").abs().max(), 2, signed=False)
    ours = f"vramfit predicts PyTorch's peak to {worst} at worst"
    if not every:
        return ours
    medians = [rival.theirs.errors.abs().median() for rival in every]
    span = f"{number(100 * min(medians))} to {percent(max(medians), 0, signed=False)}"
    return f"{ours}; formulas are off by {span} (medians)"


def draw(comparison: Accuracy) -> Picture:
    own = {i: comparison.predictions[i].peak["peak"] for i in with_peak(comparison)}
    every = rivals(comparison)

    title = _finding(comparison, every)
    figure = style.new_figure(6, title)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    values = [comparison.cases[i].peak["peak"] for i in own]
    values += [value for rival in every for value in rival.said] + list(own.values())
    low, high = min(values) / GB / _MARGIN, max(values) / GB * _MARGIN
    axes.plot([low, high], [low, high], color=style.INK, linewidth=1, zorder=1)
    for rival in every:
        mark = _MARKS[rival.formula.key]
        _scatter(
            axes,
            comparison,
            rival.said.to_dict(),
            marker=mark.shape,
            color=mark.color,
            markerfacecolor="none",
            markersize=6,
            label=_label(f"{rival.formula.name}, {rival.formula.form}", rival.theirs.errors, 0),
        )
    _scatter(
        axes,
        comparison,
        own,
        marker="o",
        color=style.PREDICTED.color,
        markersize=4.5,
        markeredgecolor="white",
        markeredgewidth=0.5,
        zorder=4,
        label=_label("vramfit", comparison.errors("peak allocated"), 2),
    )
    _scales(axes, low, high)
    axes.set_xlabel("measured peak allocated, GB")
    axes.set_ylabel("predicted, GB")
    handles, labels = axes.get_legend_handles_labels()
    style.key(figure, list(zip(labels[::-1], handles[::-1], strict=True)), 1)

    return Picture(
        key="accuracy",
        title=title,
        alt="; ".join(labels[::-1]),
        caption=caption(
            "GB is 1e9 bytes. A point on the line is predicted right, above it too high, below it "
            "too low.",
        ),
        figure=figure,
        signature=SIGNATURE,
    )
