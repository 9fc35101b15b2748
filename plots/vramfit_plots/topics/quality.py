"""What fewer bits cost a model that was trained, and how it was trained."""

from collections.abc import Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from vramfit_plots import words
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.quality import BASE, Quality
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import number, percent

_OURS, _THEIRS = "vramfit", "PyTorch"
_HEIGHT = 3.4
_HIGHEST = 7.0  # nats: the first steps' losses say nothing
_MILLION = 1e6


def measured(inputs: Inputs) -> Quality:
    if inputs.quality is None:
        raise AbsentError("data/quality/results.json")
    return inputs.quality


def _about(found: Quality) -> dict[str, object]:
    course = found.course
    return {
        "model": course["model"],
        "gpu": found.facts["gpu"],
        "tokens": found.tokens / _MILLION,
        "scored": found.scores[0].tokens if found.scores else 0,
        "prompt": course["score"]["prompt"],
        "base": BASE,
        "steps": course["tuning"]["steps"],
        "learnt": course["tuning"]["steps"] * course["tuning"]["batch"] * course["seq"] / _MILLION,
    }


def _formats(found: Quality) -> Table:
    columns = (
        Column("weights in", "precision"),
        Column("cache in", "cache"),
        Column("perplexity", "perplexity", number, 3),
        Column(f"above {BASE}\n%", found.above, lambda more: percent(more, 2)),
    )
    return listing("quality", columns, found.scores, found.facts["command"], **_about(found))


def _tuning(found: Quality) -> Table:
    columns = (
        Column("trained", lambda one: f"LoRA of rank {one.lora}" if one.lora else "everything"),
        Column("weights in", "precision"),
        Column("perplexity\nbefore", "before", number, 3),
        Column("after", "after", number, 3),
        Column("change\n%", lambda one: one.after / one.before - 1, percent),
    )
    command = found.facts["command"]
    return listing("quality_tuning", columns, found.tuned, command, **_about(found))


def build(inputs: Inputs) -> list[Table]:
    found = measured(inputs)
    return [_formats(found), _tuning(found)]


def _apart(found: Quality) -> list[float]:
    """By how much the two sides' losses differ, step by step."""
    ours, theirs = found.losses[_OURS], found.losses[_THEIRS]
    return [abs(a - b) for a, b in zip(ours, theirs, strict=False)]


def _line(axes: Axes, found: Quality, side: str, losses: Sequence[float], width: float) -> None:
    tokens = [step * found.tokens_a_step / _MILLION for step in range(1, len(losses) + 1)]
    axes.plot(tokens, losses, color=style.LINE_OF[side], linewidth=width)


def _panel(axes: Axes, title: str) -> None:
    axes.set_title(title)
    axes.set_xlabel("tokens learnt from, millions")
    style.level_grid(axes)


def _title(found: Quality) -> str:
    apart = _apart(found)
    last = found.held_out[-1][1]
    return (
        f"Over {len(apart)} steps of the same weights and text vramfit's loss is PyTorch's to "
        f"within {number(max(apart), 3)} nats, {number(median(apart), 4)} in the median; after "
        f"{number(found.tokens / _MILLION)} million tokens that of held-out text is "
        f"{number(last, 2)}"
    )


def draw(inputs: Inputs) -> Picture:
    found = measured(inputs)
    beside = len(found.losses[_THEIRS])
    if not beside or not found.held_out:
        raise AbsentError("PyTorch's steps, or held-out text")
    title = _title(found)
    figure = style.new_figure(_HEIGHT, title)
    whole, first = style.grid(figure, 2, 2)
    _panel(whole, "The whole course: loss, nats a token")
    _line(whole, found, _OURS, found.losses[_OURS], 0.8)
    held_out = [(step * found.tokens_a_step / _MILLION, loss) for step, loss in found.held_out]
    whole.plot(*zip(*held_out, strict=True), "o", color=style.INK, markersize=4)
    whole.set_ylim(top=_HIGHEST)
    _panel(first, f"Its first {beside} steps, PyTorch beside")
    _line(first, found, _THEIRS, found.losses[_THEIRS], 3.2)
    _line(first, found, _OURS, found.losses[_OURS][:beside], 1.0)
    looks = [(side, Line2D([], [], color=style.LINE_OF[side])) for side in (_OURS, _THEIRS)]
    dot = Line2D([], [], color=style.INK, marker="o", markersize=4, linestyle="")
    style.key(figure, [*looks, ("held-out text, vramfit", dot)], 3)
    said = [f"after {number(at)} million tokens {number(loss, 3)}" for at, loss in held_out]
    alt = f"Loss of held-out text, nats a token: {'; '.join(said)}"
    signature = f"vramfit {found.facts['commit']}, measured on one {found.facts['gpu']}"
    note = words.note("quality", "picture", **_about(found))
    return Picture("quality", title, alt, note, figure, signature)
