"""What a format's rounding costs against what its weights take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import command
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.topics.precisions import Precisions, load_precisions
from vramfit_plots.units import GB, gb, gigabytes, number, share

_COUNTERS = ("logits_error", "trained_loss", "trained_loss_fp32")
_HEIGHT = 3.6
_ROOM = 1.35  # right of the largest weights, for its name
_APART = 0.07  # of the panel's height: names that stand nearer are moved
_WIDE = 0.1  # of the largest weights: names do not stand side by side within it


@dataclass(frozen=True)
class Cost:
    precision: str
    weights: float  # bytes
    error: float | None  # of logits, a share
    loss: float | None  # nats, of a model that was trained
    exact: float | None  # the same in fp32

    @property
    def percents(self) -> float | None:
        return None if self.error is None else 100 * self.error

    @property
    def above(self) -> float | None:
        return None if self.loss is None or self.exact is None else self.loss - self.exact


def _costs(found: Precisions) -> list[Cost]:
    """None where nothing was measured."""
    every = (
        Cost(one, found.weights(one), *(found.of(one, counter) for counter in _COUNTERS))
        for one in found.precisions
    )
    return [one for one in every if one.error is not None or one.above is not None]


_COLUMNS = (
    Column("weights in", "precision"),
    Column("weights\nGB", "weights", gb, 2),
    Column("logits' error\n%", "percents", number, 2),
    Column("trained loss\nnats", "loss", number, 4),
    Column("in fp32\nnats", "exact", number, 4),
    Column("above fp32\nnats", "above", lambda above: number(above, 4, signed=True)),
)


def build(inputs: Inputs) -> list[Table]:
    found = load_precisions(inputs)
    rows = command(inputs, found.pattern)
    return [listing("rounding", _COLUMNS, _costs(found), rows, model=found.model)]


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
            style.say(axes, cost.precision, (at, place), (8, 0), **beside)


def _panel(axes: Axes, title: str, costs: Sequence[Cost]) -> None:
    axes.set_title(title)
    axes.set_xlabel("weights, GB")
    axes.set_xlim(0, _ROOM * max(cost.weights for cost in costs) / GB)
    style.level_grid(axes)


def draw(inputs: Inputs) -> Picture:
    found = load_precisions(inputs)
    costs = _costs(found)
    if not costs:
        raise AbsentError(f"{found.row(found.precisions[-1], found.points[0])}: logits_error")
    first, last = costs[0], costs[-1]
    title = (
        f"{last.precision} takes {gigabytes(last.weights)} where {first.precision} takes "
        f"{gigabytes(first.weights)}; random weights' logits are off by {share(last.error)}, a "
        f"small trained model's loss by {number(last.above, 3, signed=True)} nats"
    )
    figure = style.new_figure(_HEIGHT, title)
    left, right = style.grid(figure, 2, 2)
    _panel(left, "Random weights' logits off by, %", costs)
    errors = [cost.percents for cost in costs]
    left.set_yscale("log")
    left.set_ylim(min(errors) / 2, max(errors) * 2)
    left.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    _points(left, costs, lambda cost: cost.percents)
    _panel(right, "Trained model's loss above fp32, nats", costs)
    losses = [cost.above for cost in costs]
    span = max(max(losses) - min(losses), 1e-6)
    right.set_ylim(min(0.0, *losses) - 0.15 * span, max(0.0, *losses) + 0.25 * span)
    right.axhline(0, color=style.INK, linewidth=0.8)
    _points(right, costs, lambda cost: cost.above)
    said = [
        f"{cost.precision}, {gb(cost.weights, 2)} GB: logits off by "
        f"{share(cost.error, 2)}, loss by {number(cost.above, 4, signed=True)}"
        for cost in costs
    ]
    return drawn(inputs, "rounding", title, figure, said, model=found.model)
