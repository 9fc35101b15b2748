"""Inference of the article's model by what its weights are stored in: memory."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from matplotlib.axes import Axes

from vramfit_plots.captions import command, said
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import MEASURED, PREDICTED, Source
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import GB, gb, number, share, times

BASE = "bf16"  # what formats of fewer bits are held against
_CACHE, _WEIGHTS = "kv_cache", "parameters"
_LOOKS = {
    "weights": style.BY_CATEGORY[_WEIGHTS],
    "KV cache": style.BY_CATEGORY[_CACHE],
    "activations, workspace and inputs": style.BY_CATEGORY["activations"],
}
_ROOM = 1.2  # for the figures at the bars' ends
_BAR_INCHES, _PANEL_INCHES, _AROUND_INCHES = 0.21, 0.45, 1.0
_COLUMNS = 2


@dataclass(frozen=True)
class Point:
    batch: int
    seq: int

    @property
    def text(self) -> str:
        return times(self.batch, f"{self.seq:,}")


@dataclass(frozen=True)
class Precisions:
    """`precisions` has every one with a row at each of `points`, the largest weights first."""

    inputs: Inputs
    precisions: Sequence[str]
    points: Sequence[Point]

    @property
    def model(self) -> str:
        return self.inputs.article.inference["model"]

    @property
    def pattern(self) -> str:
        return f"^Inference/{self.model}/"

    @cached_property
    def source(self) -> Source:
        """What was measured, where every row was."""
        rows = (self.row(precision, p) for precision in self.precisions for p in self.points)
        measured = all(self.inputs.of(row, MEASURED, "allocated") is not None for row in rows)
        return MEASURED if measured else PREDICTED

    def row(self, precision: str, point: Point) -> str:
        return _row(self.model, precision, point)

    def bytes(self, precision: str, point: Point, counter: str = "allocated") -> float:
        return self.inputs.need(self.row(precision, point), f"{self.source.prefix}{counter}")

    def weights(self, precision: str) -> float:
        """What they take in bytes, scales and what stays in 16 bits included."""
        return self.bytes(precision, self.points[0], _WEIGHTS)

    def of(self, precision: str, counter: str) -> float | None:
        """What a precision's rows agree on."""
        found = (self.inputs.value(self.row(precision, point), counter) for point in self.points)
        return next((value for value in found if value is not None), None)


def _row(model: str, precision: str, point: Point) -> str:
    return f"Inference/{model}/{precision}/batch:{point.batch}/seq:{point.seq}"


def load_precisions(inputs: Inputs) -> Precisions:
    """FP16 takes what BF16 does, and is left out."""
    model = inputs.article.inference["model"]
    form = re.compile(rf"Inference/{re.escape(model)}/([^/]+)/batch:(\d+)/seq:(\d+)")
    found: dict[str, set[Point]] = {}
    for match in filter(None, map(form.fullmatch, inputs.run.rows.index)):
        if inputs.of(match[0], PREDICTED, "allocated") is not None and match[1] != "fp16":
            found.setdefault(match[1], set()).add(Point(int(match[2]), int(match[3])))
    if BASE not in found or len(found) == 1:
        raise AbsentError(f"rows {_row(model, BASE, Point(1, 512))} and those of other precisions")
    points = sorted(found[BASE], key=lambda point: (point.batch * point.seq, point.batch))
    whole = [precision for precision, its in found.items() if its >= found[BASE]]
    unsorted = Precisions(inputs, whole, points)
    return Precisions(inputs, sorted(whole, key=unsorted.weights, reverse=True), points)


def build(inputs: Inputs) -> list[Table]:
    found = load_precisions(inputs)
    parameters = inputs.models[found.model].parameters
    columns = [
        Column("weights in", str),
        Column("weights\nGB", found.weights, gb, 2),
        Column("B/param", lambda one: found.weights(one) / parameters, number, 3),
        *(
            Column(f"{point.text}\nGB", lambda one, point=point: found.bytes(one, point), gb)
            for point in found.points
        ),
    ]
    about = {"model": found.model, "whose": said(inputs, found.source), "base": BASE}
    rows = command(inputs, found.pattern)
    return [listing("precisions", columns, found.precisions, rows, **about)]


def _draw_point(axes: Axes, found: Precisions, point: Point) -> float:
    """The longest bar comes back."""
    peaks = [found.bytes(precision, point) for precision in found.precisions]
    for y, (precision, peak) in enumerate(zip(found.precisions, peaks, strict=True)):
        weights, cache = (found.bytes(precision, point, part) for part in (_WEIGHTS, _CACHE))
        parts = (part / GB for part in (weights, cache, peak - weights - cache))
        style.stack(axes, y, zip(parts, _LOOKS.values(), strict=True), 0.8)
        style.say(axes, gb(peak), (peak / GB, y), (4, 0), va="center", strong=True)
    axes.set_ylim(len(found.precisions) - 0.4, -0.6)
    axes.set_title(f"{point.text} tokens")
    style.bare(axes)
    return max(peaks)


def _finding(found: Precisions) -> str:
    """The smallest weights against 16 bits, at the last point."""
    least, last = found.precisions[-1], found.points[-1]
    stored = found.weights(least) / found.weights(BASE)
    peak = found.bytes(least, last) / found.bytes(BASE, last)
    return (
        f"{least} stores the weights in {share(stored, 0)} of {BASE}'s bytes; at {last.text} "
        f"tokens it takes {share(peak, 0)} of its memory, as the cache stays as it is"
    )


def draw(inputs: Inputs) -> Picture:
    found = load_precisions(inputs)
    title, lines = _finding(found), -(-len(found.points) // _COLUMNS)
    height = _AROUND_INCHES + lines * (_PANEL_INCHES + _BAR_INCHES * len(found.precisions))
    figure = style.new_figure(height, title)
    panels = style.grid(figure, len(found.points), _COLUMNS, sharex=True, sharey=True)
    longest = max(
        _draw_point(axes, found, point) for axes, point in zip(panels, found.points, strict=True)
    )
    panels[0].set_yticks(range(len(found.precisions)), found.precisions)
    panels[0].set_xlim(0, _ROOM * longest / GB)
    for axes in figure.axes[-_COLUMNS:]:
        axes.set_xlabel("peak memory allocated, GB")
    style.key(figure, [(name, look.patch()) for name, look in _LOOKS.items()], len(_LOOKS))
    peaks = [
        f"{precision}, {point.text} tokens: {gb(found.bytes(precision, point))}"
        for point in found.points
        for precision in found.precisions
    ]
    about = {"model": found.model, "whose": found.source.heading, "base": BASE}
    return drawn(inputs, "precisions", title, figure, peaks, unit="GB", **about)
