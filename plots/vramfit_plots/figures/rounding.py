"""What a format's rounding costs against what its weights take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import caption, signature
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.precisions import Precisions, load_precisions
from vramfit_plots.tables.precisions import RANDOM
from vramfit_plots.units import GB, gb, gigabytes, number, percent

_HEIGHT = 3.6
_ROOM = 1.35  # right of the largest weights, for its name
_APART = 0.07  # of the panel's height: names that stand nearer are moved
_WIDE = 0.1  # of the largest weights: names do not stand side by side within it


@dataclass(frozen=True)
class Cost:
    precision: str
    weights: float  # bytes
    error: float  # of logits, a share
    above: float  # loss above fp32's, nats


def _costs(found: Precisions) -> list[Cost]:
    costs = []
    for precision in found.precisions:
        counters = ("logits_error", "trained_loss", "trained_loss_fp32")
        error, loss, exact = (found.of(precision, counter) for counter in counters)
        if error is not None and loss is not None and exact is not None:
            costs.append(Cost(precision, found.weights(precision), error, loss - exact))
    if not costs:
        raise AbsentError(f"{found.row(found.precisions[-1], found.points[0])}: logits_error")
    return costs


def _columns(costs: Sequence[Cost]) -> list[list[Cost]]:
    """Those whose names would stand beside each other."""
    columns: list[list[Cost]] = []
    width = _WIDE * max(cost.weights for cost in costs)
    for cost in costs:
        if not columns or columns[-1][0].weights - cost.weights > width:
            columns.append([])
        columns[-1].append(cost)
    return columns


def _points(axes: Axes, costs: Sequence[Cost], value: Callable[[Cost], float]) -> None:
    """Once the axes' limits stand."""
    to_axes = axes.transData + axes.transAxes.inverted()
    for column in _columns(costs):
        at = max(cost.weights for cost in column) / GB
        places = [float(to_axes.transform((at, value(cost)))[1]) for cost in column]
        for cost, place in zip(column, style.apart(places, _APART), strict=True):
            axes.plot(cost.weights / GB, value(cost), "o", color=style.MEASURED.color)
            beside = {"xycoords": axes.get_xaxis_transform(), "va": "center"}
            axes.annotate(
                cost.precision, (at, place), (8, 0), textcoords="offset points", size=9, **beside
            )


def _panel(axes: Axes, title: str, costs: Sequence[Cost]) -> None:
    axes.set_title(title)
    axes.set_xlabel("weights, GB")
    axes.set_xlim(0, _ROOM * max(cost.weights for cost in costs) / GB)
    style.level_grid(axes)


def _finding(costs: Sequence[Cost]) -> str:
    """The smallest weights against the largest."""
    first, last = costs[0], costs[-1]
    return (
        f"{last.precision} takes {gigabytes(last.weights)} where {first.precision} takes "
        f"{gigabytes(first.weights)}; random weights' logits are off by "
        f"{percent(last.error, signed=False)}, a small trained model's loss by "
        f"{number(last.above, 3, signed=True)} nats"
    )


def draw(inputs: Inputs) -> Picture:
    found = load_precisions(inputs)
    costs = _costs(found)
    title = _finding(costs)
    figure = style.new_figure(_HEIGHT, title)
    left, right = figure.subplots(1, 2)
    _panel(left, "Random weights' logits off by, %", costs)
    errors = [100 * cost.error for cost in costs]
    left.set_yscale("log")
    left.set_ylim(min(errors) / 2, max(errors) * 2)
    left.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    _points(left, costs, lambda cost: 100 * cost.error)
    _panel(right, "Trained model's loss above fp32, nats", costs)
    losses = [cost.above for cost in costs]
    span = max(max(losses) - min(losses), 1e-6)
    right.set_ylim(min(0.0, *losses) - 0.15 * span, max(0.0, *losses) + 0.25 * span)
    right.axhline(0, color=style.INK, linewidth=0.8)
    _points(right, costs, lambda cost: cost.above)
    said = [
        f"{cost.precision}, {gb(cost.weights, 2)} GB: logits off by "
        f"{percent(cost.error, 2, signed=False)}, loss by {number(cost.above, 4, signed=True)}"
        for cost in costs
    ]
    return Picture(
        key="rounding",
        title=title,
        alt="; ".join(said),
        caption=caption(inputs, found.pattern, f"Weights are those of {found.model}. {RANDOM}"),
        figure=figure,
        signature=signature(inputs),
    )
