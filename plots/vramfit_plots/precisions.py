"""Rows of Inference by what the weights are stored in: those of the article's model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import MEASURED, PREDICTED, Source
from vramfit_plots.units import times

BASE = "bf16"  # what formats of fewer bits are held against
CACHE, WEIGHTS = "kv_cache", "parameters"
BATCH_BY_SEQUENCE = times("batch", "sequence").strip()


@dataclass(frozen=True)
class Point:
    batch: int
    seq: int

    @property
    def text(self) -> str:
        return times(self.batch, f"{self.seq:,}").strip()


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
        rows = [
            self.row(precision, point) for precision in self.precisions for point in self.points
        ]
        measured = all(self.inputs.value(row, "mem_allocated") is not None for row in rows)
        return MEASURED if measured else PREDICTED

    def row(self, precision: str, point: Point) -> str:
        return _row(self.model, precision, point)

    def bytes(self, precision: str, point: Point, counter: str) -> float:
        return self.inputs.need(self.row(precision, point), f"{self.source.prefix}{counter}")

    def weights(self, precision: str) -> float:
        """What they take in bytes, scales and what stays in 16 bits included."""
        return self.bytes(precision, self.points[0], WEIGHTS)

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
        if inputs.value(match[0], "pred_allocated") is not None and match[1] != "fp16":
            found.setdefault(match[1], set()).add(Point(int(match[2]), int(match[3])))
    if BASE not in found or len(found) == 1:
        raise AbsentError(f"rows {_row(model, BASE, Point(1, 512))} and those of other precisions")
    points = sorted(found[BASE], key=lambda point: (point.batch * point.seq, point.batch))
    whole = [precision for precision, its in found.items() if its >= found[BASE]]
    unsorted = Precisions(inputs, whole, points)
    return Precisions(inputs, sorted(whole, key=unsorted.weights, reverse=True), points)
