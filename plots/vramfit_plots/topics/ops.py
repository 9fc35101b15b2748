"""A training step op by op, each beside the time it takes where the device's rates alone count."""

from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import command
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.rows import RowName
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import number, share, with_unit

FAMILY = "Ops"
_PATTERN = f"^{FAMILY}/"
_STEP = "step"  # the part of a case that is about all its ops
_TB = 1e-12
BOUND = style.Look("#0072B2")
LOST = style.Look("#E69F00", "////")
_SHOWN = 8  # ops of a step
_LEFT = -0.65  # of a phone's axes: where its names begin
_ROOM, _ROOM_FIRST = 1.25, 1.6  # for the figures at the bars' ends; the first says what they are
_BAR_INCHES, _TITLE_INCHES, _AROUND_INCHES = 0.2, 0.45, 0.9


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
    def shown(self) -> list[Op]:
        """In the picture."""
        return self.ops[:_SHOWN]

    @property
    def lines(self) -> list[tuple["Step", Op]]:
        """Of the table: the ops, their sum and the whole."""
        summed = Op("sum of ops", self.whole.calls, self.ops_seconds, self.whole.bound)
        return [(self, op) for op in (*self.ops, summed, self.whole)]

    @property
    def title(self) -> str:
        axes = dict(self.name.axes)
        what = [axes.pop(axis) for axis in ("model", "precision", "optimizer")]
        rest = [f"{key} {value}" for key, value in axes.items() if key not in {"batch", "seq"}]
        return ", ".join([" ".join(what), self.name.size, *rest])


def _op(inputs: Inputs, row: str) -> Op:
    seconds = inputs.divisor(row, "seconds")
    label, need = row.rpartition("/")[2], inputs.need
    return Op(label, need(row, "calls"), seconds, need(row, "bound_seconds"))


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
    for row in inputs.run.names(FAMILY):
        rows.setdefault(row.rpartition("/")[0], []).append(row)
    found = [_step(inputs, case, of) for case, of in rows.items() if _is_whole(inputs, case, of)]
    if not found:
        raise AbsentError(f"{FAMILY}/*: steps timed op by op")
    return found


def milliseconds(seconds: float, decimals: int = 2) -> str:
    return number(1e3 * seconds, decimals)


_OF_STEPS = (
    Column("training step", "case"),
    Column("step, ms", "whole.seconds", milliseconds),
    Column("sum of ops, ms", "ops_seconds", milliseconds),
    Column("bound, ms", "whole.bound", milliseconds),
    Column("of the bound", "whole.of_bound", share),
    Column("tokens/s", "tokens_per_second", number),
    Column("bound's tokens/s", "bound_tokens_per_second", number),
    Column("copy, TB/s", lambda step: _TB * step.copy, number, 2),
    Column("GEMM, TFLOP/s", lambda step: _TB * step.gemm, number),
)
_OF_OPS = (  # of a step and an op
    Column("training step\nop", lambda line: f"{line[0].case}\n{line[1].label}"),
    Column("calls", lambda line: line[1].calls, number),
    Column("ms", lambda line: line[1].seconds, milliseconds),
    Column("bound, ms", lambda line: line[1].bound, milliseconds),
    Column("of the bound", lambda line: line[1].of_bound, share),
    Column("lost, ms", lambda line: line[1].lost, milliseconds),
    Column("share", lambda line: line[1].seconds / line[0].ops_seconds, share),
)


def build(inputs: Inputs) -> list[Table]:
    steps, rows = measured_steps(inputs), command(inputs, _PATTERN)
    lines = [line for step in steps for line in step.lines]
    return [
        listing("ops", _OF_STEPS, steps, rows),
        listing("ops_each", _OF_OPS, lines, rows, long=True),
    ]


def _ms(seconds: float) -> str:
    return with_unit(milliseconds(seconds, 1), "ms")


def _draw_step(axes: Axes, step: Step) -> None:
    shown, others, scale = step.shown, step.ops[_SHOWN:], 100 / step.ops_seconds
    for y, op in enumerate(shown):
        kept, lost = min(op.bound, op.seconds), max(0.0, op.lost)
        style.stack(axes, y, [(scale * kept, BOUND), (scale * lost, LOST)], 0.75)
        lost_text, of_bound = _ms(op.lost), share(op.of_bound, 0)
        short = y or style.is_narrow()
        text = f"{lost_text}, {of_bound}" if short else f"{lost_text} lost, {of_bound} of the bound"
        style.say(axes, text, (scale * op.seconds, y), (4, 0), va="center")
    last = len(shown)
    lost, taken = (sum(getattr(op, key) for op in others) for key in ("lost", "seconds"))
    text = f"{_ms(lost)} lost of {_ms(taken)}"
    style.say(axes, text, (0, last), (4, 0), va="center", faint=True)
    text = f"the step: {_ms(step.whole.seconds)}, {share(step.whole.of_bound)} of the bound"
    if style.is_narrow():
        axes.set_title(f"{step.title}\n{text}", fontsize=8.5, x=_LEFT)
    else:
        axes.set_title(step.title, fontsize=10)
        across = {"xycoords": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
        style.say(axes, text, (1, last), (0, 0), strong=True, **across)
    labels = [*(op.label for op in shown), f"{len(others)} others"]
    axes.set_yticks(range(last + 1), labels, fontsize=7 if style.is_narrow() else 8)
    axes.set_ylim(last + 0.6, -0.6)
    style.bare(axes)


def _finding(steps: list[Step]) -> str:
    """What loses most, in how many of the steps."""
    worst = [step.ops[0].label for step in steps]
    label = max(worst, key=worst.count)
    whole = [step.whole.of_bound for step in steps]
    return (
        f"Steps reach {number(100 * min(whole))} to {share(max(whole), 0)} of what the card's "
        f"rates allow; {label} loses most in {worst.count(label)} of {len(steps)}"
    )


def draw(inputs: Inputs) -> Picture:
    steps = measured_steps(inputs)
    title, rows = _finding(steps), [len(step.shown) + 1 for step in steps]
    height = _AROUND_INCHES + sum(_TITLE_INCHES + _BAR_INCHES * count for count in rows)
    figure = style.new_figure(height, title)
    panels = style.grid(figure, len(steps), 1, sharex=True, height_ratios=rows)
    for axes, step in zip(panels, steps, strict=True):
        _draw_step(axes, step)
    ends = [
        op.seconds / step.ops_seconds * (_ROOM if i else _ROOM_FIRST)
        for step in steps
        for i, op in enumerate(step.shown)
    ]
    panels[-1].set_xlim(0, 100 * max(ends))
    panels[-1].set_xlabel("share of the ops' time, %")
    style.key(figure, [("bound", BOUND.patch()), ("lost", LOST.patch())], 2)
    said = [
        f"{step.title}: " + ", ".join(f"{op.label} loses {_ms(op.lost)}" for op in step.shown)
        for step in steps
    ]
    return drawn(inputs, "ops", title, figure, said, shown=_SHOWN)
