"""What each step's ops take beside their bounds: those that lose most."""

from matplotlib.axes import Axes

from vramfit_plots.captions import caption, signature
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.ops import FAMILY, Step, measured_steps
from vramfit_plots.units import number, percent, with_unit

BOUND = style.Look("#0072B2")
LOST = style.Look("#E69F00", "////")
_SHOWN = 8  # ops of a step
_ROOM, _ROOM_FIRST = 1.25, 1.6  # for the figures at the bars' ends; the first says what they are
_BAR_INCHES, _TITLE_INCHES, _AROUND_INCHES = 0.2, 0.45, 0.9


def _ms(seconds: float) -> str:
    return with_unit(number(1e3 * seconds, 1), "ms")


def _draw_step(axes: Axes, step: Step) -> None:
    shown, others = step.ops[:_SHOWN], step.ops[_SHOWN:]
    for y, op in enumerate(shown):
        kept, lost = min(op.bound, op.seconds), max(0.0, op.lost)
        axes.barh(y, 100 * kept / step.ops_seconds, 0.75, **BOUND.bar())
        axes.barh(
            y, 100 * lost / step.ops_seconds, 0.75, 100 * kept / step.ops_seconds, **LOST.bar()
        )
        lost_text, of_bound = _ms(op.lost), percent(op.of_bound, 0, signed=False)
        text = f"{lost_text}, {of_bound}" if y else f"{lost_text} lost, {of_bound} of the bound"
        style.say(axes, text, (100 * op.seconds / step.ops_seconds, y), (4, 0), va="center")
    last = len(shown)
    lost, taken = (sum(getattr(op, key) for op in others) for key in ("lost", "seconds"))
    text = f"{_ms(lost)} lost of {_ms(taken)}"
    style.say(axes, text, (0, last), (4, 0), va="center", faint=True)
    of_bound = percent(step.whole.of_bound, signed=False)
    text = f"the step: {_ms(step.whole.seconds)}, {of_bound} of the bound"
    across = {"xycoords": axes.get_yaxis_transform(), "ha": "right", "va": "center"}
    style.say(axes, text, (1, last), (0, 0), strong=True, **across)
    labels = [*(op.label for op in shown), f"{len(others)} others"]
    axes.set_yticks(range(last + 1), labels, fontsize=8)
    axes.set_ylim(last + 0.6, -0.6)
    axes.set_title(step.title, fontsize=10)
    axes.tick_params(length=0)
    axes.spines["left"].set_color(style.INK)


def _finding(steps: list[Step]) -> str:
    """What loses most, in how many of the steps."""
    worst = [step.ops[0].label for step in steps]
    label = max(worst, key=worst.count)
    whole = [step.whole.of_bound for step in steps]
    near = f"{number(100 * min(whole))} to {percent(max(whole), 0, signed=False)}"
    return (
        f"Steps reach {near} of what the card's rates allow; {label} loses most in "
        f"{worst.count(label)} of {len(steps)}"
    )


def draw(inputs: Inputs) -> Picture:
    steps, title = measured_steps(inputs), _finding(measured_steps(inputs))
    rows = [min(len(step.ops), _SHOWN) + 1 for step in steps]
    height = _AROUND_INCHES + sum(_TITLE_INCHES + _BAR_INCHES * count for count in rows)
    figure = style.new_figure(height, title)
    panels = figure.subplots(len(steps), 1, sharex=True, height_ratios=rows, squeeze=False)[:, 0]
    for axes, step in zip(panels, steps, strict=True):
        _draw_step(axes, step)
    ends = [
        op.seconds / step.ops_seconds * (_ROOM if i else _ROOM_FIRST)
        for step in steps
        for i, op in enumerate(step.ops[:_SHOWN])
    ]
    panels[-1].set_xlim(0, 100 * max(ends))
    panels[-1].set_xlabel("share of the time that the step's ops take, %")
    style.key(figure, [("bound", BOUND.patch()), ("lost", LOST.patch())], 2)
    said = [
        f"{step.title}: "
        + ", ".join(f"{op.label} loses {_ms(op.lost)}" for op in step.ops[:_SHOWN])
        for step in steps
    ]
    return Picture(
        key="ops",
        title=title,
        alt="; ".join(said),
        caption=caption(
            inputs,
            f"^{FAMILY}/",
            f"The {_SHOWN} ops of each step that lose most against their bounds, and at each bar's "
            "end how much, and how near it is to its bound.",
        ),
        figure=figure,
        signature=signature(inputs),
    )
