"""The rooms as boxes, each on what it includes; an arrow is an #include."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.units import in_words

from architecture.tree import Room, floors

_WIDTH, _HEIGHT = 8.3, 5.0  # inches: as wide as a README is shown, 830 px
_ACROSS, _FLOOR = 100.0, 30.0  # of the drawing, and how high a floor is
_BOX, _TALL, _LOW = 29.0, 19.0, 14.0
_LETTERS = 34  # of a line in a box
# What a room is, in words; all else is read off the tree.
WHAT = {
    "model": "what a step does: tensors, the memory ledger, ops, the transformer",
    "kernels": "computes it, on a CPU or a GPU",
    "runtimes": "goes through it without a GPU",
    "estimator": "asks and answers: cards, verdicts",
    "bench": "measures a step, and predicts it",
    "standin": "a CUDA that only counts memory",
    "python": "the Python package",
    "web": "the page, as WebAssembly",
}


@dataclass(frozen=True)
class _Place:
    x: float  # of its middle
    y: float  # of its foot
    width: float = _BOX
    height: float = _TALL

    @property
    def top(self) -> float:
        return self.y + self.height


def _places(every: Mapping[str, Room]) -> dict[str, _Place]:
    """The floors from below; on a floor each near what it includes. A room that carries all
    others is as wide as they are."""
    placed: dict[str, _Place] = {}
    for height, names in enumerate(floors(every)):

        def near(name: str) -> float:
            below = [
                other for other in every[name].includes | every[name].brings if other in placed
            ]
            return sum(placed[other].x for other in below) / max(len(below), 1)

        y = height * _FLOOR
        if len(names) == 1 and height == 0:
            placed[names[0]] = _Place(_ACROSS / 2, _FLOOR - 5 - _LOW, _ACROSS - 4, _LOW)
            continue
        step = _ACROSS / len(names)
        for number, name in enumerate(sorted(names, key=near)):
            placed[name] = _Place(step * (number + 0.5), y)
    return placed


def _box(axes: Axes, room: Room, place: _Place, color: str) -> None:
    left = place.x - place.width / 2
    box = FancyBboxPatch(
        (left, place.y), place.width, place.height, "round,pad=0,rounding_size=1.2",
        facecolor="white", edgecolor=color, linewidth=1.6, zorder=3,
    )  # fmt: skip
    axes.add_patch(box)
    letters = int(_LETTERS * place.width / _BOX)
    programs = f"  builds {in_words(room.programs)}" if room.programs else ""
    axes.text(left + 1.5, place.top - 2, room.name + "/", color=color, weight="bold", **_TEXT)
    axes.text(
        left + place.width - 1.5, place.top - 2.4, programs, fontsize=7, ha="right",
        va="top", color=style.FAINT, zorder=4,
    )  # fmt: skip
    axes.text(left + 1.5, place.top - 6.6, WHAT[room.name], fontsize=8, va="top", zorder=4)
    folders = textwrap.fill(", ".join(room.folders), letters + 4)
    axes.text(
        left + 1.5, place.top - 10.6, folders, fontsize=7.2, va="top", color=style.FAINT, zorder=4
    )


_TEXT = {"fontsize": 10, "va": "top", "zorder": 4}


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], dashed: bool) -> None:
    line = FancyArrowPatch(
        start, end, arrowstyle="-|>", mutation_scale=9, shrinkA=0, shrinkB=1, linewidth=1.2,
        color=style.FAINT if dashed else style.INK, linestyle="--" if dashed else "-", zorder=2,
    )  # fmt: skip
    axes.add_patch(line)


def _arrows(axes: Axes, every: Mapping[str, Room], placed: Mapping[str, _Place]) -> None:
    """From foot to head, side by side in the order in which they lead. None to what carries all."""
    ground = floors(every)[0]

    def along(name: str) -> tuple[float, float]:
        return placed[name].x, placed[name].y

    leading = {
        name: sorted((room.includes | room.brings) - set(ground), key=along)
        for name, room in every.items()
    }
    coming: dict[str, list[str]] = {
        name: sorted((n for n in every if name in leading[n]), key=along) for name in every
    }
    for name, others in leading.items():
        for number, other in enumerate(others):
            foot, head = placed[name], placed[other]
            out = foot.x + (number - (len(others) - 1) / 2) * foot.width / (len(others) + 1)
            order, all_of = coming[other].index(name), len(coming[other])
            into = head.x + (order - (all_of - 1) / 2) * head.width / (all_of + 1), head.top
            if foot.y - head.y > _FLOOR and foot.x != head.x:  # by the side, past what is between
                side = head.width / 2 if foot.x > head.x else -head.width / 2
                into = head.x + side, head.top - 4
            _arrow(axes, (out, foot.y), into, other in every[name].brings)


def told(every: Mapping[str, Room]) -> str:
    """The picture in words."""
    ground = in_words(floors(every)[0])
    lines = []
    for floor in floors(every)[1:]:
        for name in floor:
            room = every[name]
            on = sorted(room.includes - set(floors(every)[0]))
            line = f"{name} ({', '.join(room.folders)})" if room.folders else name
            line += f" includes {in_words(on)}" if on else " includes nothing else"
            line += f" and brings {in_words(sorted(room.brings))}" if room.brings else ""
            line += f", builds {in_words(room.programs)}" if room.programs else ""
            lines.append(line)
    carried = ", ".join(every[floors(every)[0][0]].folders)
    return f"All rooms stand on {ground} ({carried}): " + "; ".join(lines)


def draw(every: Mapping[str, Room]) -> Picture:
    title = "Rooms include only what stands below them"
    placed = _places(every)
    figure = style.new_figure(_HEIGHT, title, _WIDTH)
    axes = figure.subplots()
    for (name, room), (color, _) in zip(every.items(), style.curves(len(every)), strict=True):
        _box(axes, room, placed[name], color)
    _arrows(axes, every, placed)
    axes.set(
        xlim=(0, _ACROSS),
        ylim=(
            min(place.y for place in placed.values()) - 1,
            max(place.top for place in placed.values()) + 1,
        ),
    )
    axes.set_axis_off()
    return Picture(
        key="architecture",
        title=title,
        alt=told(every),
        note="An arrow is an #include; a dashed one a library that is taken along.",
        figure=figure,
        signature="An arrow is an #include; dashed: a library that is only taken along. "
        f"All include {in_words(floors(every)[0])}.  make architecture",
    )
