"""A training step op by op, each beside the time it takes where the device's rates alone count."""

from dataclasses import dataclass

from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import RowName
from vramfit_plots.units import times

FAMILY = "Ops"
_STEP = "step"  # the part of a case that is about all its ops


@dataclass(frozen=True)
class Op:
    """All calls of a step under one label."""

    label: str
    calls: float
    seconds: float
    bound: float  # seconds

    @property
    def lost(self) -> float:
        """Below 0 where the op is faster than the rates that were measured."""
        return self.seconds - self.bound

    @property
    def of_bound(self) -> float:
        return self.bound / self.seconds


@dataclass(frozen=True)
class Step:
    case: str  # a row's name, without the family and the op
    name: RowName  # of the same
    whole: Op  # the step as it runs, unwatched
    ops: list[Op]  # what loses most first
    ops_seconds: float  # their sum: of other steps than the one timed whole
    tokens_per_second: float
    copy: float  # bytes a second, measured beside the step
    gemm: float  # FLOPs a second, likewise

    @property
    def bound_tokens_per_second(self) -> float:
        return self.tokens_per_second / self.whole.of_bound

    @property
    def title(self) -> str:
        what = [self.name.text(axis) for axis in ("model", "precision", "optimizer")]
        size = times(self.name.text("batch"), self.name.text("seq"))
        told = {"model", "precision", "optimizer", "batch", "seq"}
        rest = [f"{key} {value}" for key, value in self.name.axes.items() if key not in told]
        return ", ".join([" ".join(what), size, *rest])


def _op(inputs: Inputs, row: str) -> Op:
    return Op(
        row.rpartition("/")[2],
        calls=inputs.need(row, "calls"),
        seconds=inputs.divisor(row, "seconds"),
        bound=inputs.need(row, "bound_seconds"),
    )


def _step(inputs: Inputs, case: str, rows: list[str]) -> Step:
    row = f"{case}/{_STEP}"
    inputs.divisor(row, "bound_seconds")
    return Step(
        case=case.removeprefix(f"{FAMILY}/"),
        name=inputs.run.parse(case),
        whole=_op(inputs, row),
        ops=sorted((_op(inputs, r) for r in rows if r != row), key=lambda op: -op.lost),
        ops_seconds=inputs.divisor(row, "ops_seconds"),
        tokens_per_second=inputs.need(row, "tokens_per_second"),
        copy=inputs.need(row, "bytes_per_second"),
        gemm=inputs.need(row, "flops_per_second"),
    )


def _is_whole(inputs: Inputs, case: str, rows: list[str]) -> bool:
    """Whether all the step's calls are there: a filter may have left out ops."""
    whole = inputs.value(f"{case}/{_STEP}", "calls")
    return whole is not None and 2 * whole == sum(inputs.value(row, "calls") or 0 for row in rows)


def measured_steps(inputs: Inputs) -> list[Step]:
    """In the run's order; a case that the run holds in part has none. Throws AbsentError where
    there is none at all."""
    rows: dict[str, list[str]] = {}
    for row in inputs.run.rows.index:
        if row.startswith(f"{FAMILY}/"):
            rows.setdefault(row.rpartition("/")[0], []).append(row)
    found = [_step(inputs, case, of) for case, of in rows.items() if _is_whole(inputs, case, of)]
    if not found:
        raise AbsentError(f"{FAMILY}/*: steps timed op by op")
    return found
