"""Where a step's time goes: every op beside its bound."""

from vramfit_plots.captions import caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.ops import FAMILY, Op, Step, measured_steps
from vramfit_plots.tables.table import Table
from vramfit_plots.units import number, percent

_MS = 1e3
_TB = 1e-12


def milliseconds(seconds: float) -> str:
    return number(_MS * seconds, 2)


def _of_bound(op: Op) -> str:
    return percent(op.of_bound, signed=False)


def _row(op: Op, step: Step) -> list[str]:
    return [
        f"{step.case}\n{op.label}",
        number(op.calls),
        milliseconds(op.seconds),
        milliseconds(op.bound),
        _of_bound(op),
        milliseconds(op.lost),
        percent(op.seconds / step.ops_seconds, signed=False),
    ]


def _rows(step: Step) -> list[list[str]]:
    summed = Op("sum of ops", step.whole.calls, step.ops_seconds, step.whole.bound)
    return [_row(op, step) for op in (*step.ops, summed, step.whole)]


def _op_by_op(inputs: Inputs, steps: list[Step]) -> Table:
    return Table(
        key="ops_each",
        title="Op by op",
        headings=[
            "training step\nop",
            "calls",
            "ms",
            "bound, ms",
            "of the bound",
            "lost, ms",
            "share",
        ],
        rows=[row for step in steps for row in _rows(step)],
        caption=caption(
            inputs,
            f"^{FAMILY}/",
            "Each op with all its calls in a step, the one that loses most first; then the ops' "
            "sum, and the step timed as a whole.",
        ),
        long=True,
    )


def _of_steps(inputs: Inputs, steps: list[Step]) -> Table:
    return Table(
        key="ops",
        title="Where a step's time goes",
        headings=[
            "training step",
            "step, ms",
            "sum of ops, ms",
            "bound, ms",
            "of the bound",
            "tokens/s",
            "bound's tokens/s",
            "copy, TB/s",
            "GEMM, TFLOP/s",
        ],
        rows=[
            [
                step.case,
                milliseconds(step.whole.seconds),
                milliseconds(step.ops_seconds),
                milliseconds(step.whole.bound),
                _of_bound(step.whole),
                number(step.tokens_per_second),
                number(step.bound_tokens_per_second),
                number(_TB * step.copy, 2),
                number(_TB * step.gemm),
            ]
            for step in steps
        ],
        caption=caption(
            inputs,
            f"^{FAMILY}/",
            "An op's bound is its bytes over the bandwidth of a large copy, or its FLOPs over the "
            "rate of a large GEMM on random data, whichever takes longer; both were measured "
            "beside the step. A step's bound is the sum of its ops' bounds. The step is timed as a "
            "whole, its ops in further steps that note the time after each, so that the ops' sum "
            "is not quite the step's time.",
        ),
    )


def build(inputs: Inputs) -> list[Table]:
    try:
        steps = measured_steps(inputs)
    except AbsentError:
        return []
    return [_of_steps(inputs, steps), _op_by_op(inputs, steps)]
