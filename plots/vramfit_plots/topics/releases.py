"""What moved from one release of PyTorch and transformers to the next."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from vramfit_plots import words
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.releases import Release, Releases
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import GB, MIB, number, with_unit

_COMMAND = "make releases"
_LEAST = 0.01  # MiB: what is less is not shown
_LINES = 2  # that moved most


@dataclass(frozen=True)
class Moved:
    """A case whose peaks are others in the release that follows."""

    old: Release
    new: Release
    case: str
    allocated: float  # MiB more
    reserved: float
    where: str

    @property
    def releases(self) -> str:
        return f"{self.old.name}\n{self.new.name}"


def _lines(change: Mapping[str, Any], case: str) -> str:
    """Of a case that is told of, those that moved most, in the stage that did."""
    for row in change["rows"]:
        if row["case"] == case and row["moved"]:
            stage = max(row["moved"], key=lambda stage: abs(stage["peak"][1] - stage["peak"][0]))
            if stage["lines"] is None:
                return "which line, PyTorch 2.9 does not tell"
            return "; ".join(map(_line, stage["lines"][:_LINES]))
    return ""


def _line(line: Mapping[str, Any]) -> str:
    place = "/".join(line["line"].split("/")[-2:]) or "no line of Python"
    backward = "backward of " if line["in_backward"] else ""
    more = number((line["new"] - line["old"]) / MIB, 2, signed=True)
    return f"{more} MiB {line['component'].replace('_', ' ')}, {backward}{place}"


def _moved(found: Releases) -> Iterator[Moved]:
    for (old, new), change in zip(pairwise(found.in_order), found.changes, strict=True):
        for case in old.readings:
            before, after = old.highest(case), new.highest(case)
            if before is None or after is None:
                continue
            more = [(now - then) / MIB for then, now in zip(before, after, strict=True)]
            if max(map(abs, more)) >= _LEAST:
                yield Moved(old, new, case, *more, _lines(change, case))


def _signed(more: float) -> str:
    return number(more, 2, signed=True)


def build(inputs: Inputs) -> list[Table]:
    if inputs.releases is None:
        raise AbsentError("data/releases")
    found = inputs.releases
    cases: Sequence[str] = list(found.in_order[0].readings)
    columns = [
        Column("case", str),
        *(Column(release.name, partial(_peaks, release=release)) for release in found.in_order),
    ]
    moved = (
        Column("releases", "releases"),
        Column("case", "case", text=True),
        Column("allocated, MiB", "allocated", _signed),
        Column("reserved, MiB", "reserved", _signed),
        Column("where", "where", text=True),
    )
    return [
        listing("releases", columns, [c for c in cases if "llama2-7b" in c], _COMMAND),
        listing("releases_moved", moved, _moved(found), _COMMAND, long=True),
    ]


def _peaks(case: str, release: Release) -> str | None:
    found = release.highest(case)
    if found is None:
        return None
    allocated, reserved = (number(size / GB, 3) for size in found)
    return f"{allocated}\nreserved {reserved}"


_HEIGHT = 2.4  # inches
# Whose peaks are drawn, by the names that changes.json has for them.
_DRAWN = {
    "step": "7B, a step",
    "lora": "7B, LoRA",
    "generation": "7B, inference",
    "step-fp32": "1.1B in fp32, a step",
}
_LEVELS = (("reserved", "#009E73", "s"), ("allocated", "#0072B2", "o"))
_LEAST_TOLD = 0.05  # GB
_LEAST_SPAN = 2.0  # GB of height: what is the same is no mountain
_ROOM = 0.3  # above and below the lines, of their height


def _of_pytorch(found: Releases) -> list[Release]:
    """The first of each PyTorch: what follows differs in transformers alone."""
    first: dict[str, Release] = {}
    for release in found.in_order:
        first.setdefault(release.versions["torch"], release)
    return list(first.values())


def _short(release: Release) -> str:
    return ".".join(release.versions["torch"].split(".")[:2])


def _curve(axes: Axes, heights: Sequence[float], look: tuple[str, str, str], above: bool) -> None:
    _, color, marker = look
    axes.plot(range(len(heights)), heights, color=color, marker=marker, markersize=4)
    last = len(heights) - 1
    side: dict[str, Any] = {"va": "bottom" if above else "top", "size": 8, "color": color}
    up = 1 if above else -1
    for i, height in enumerate(heights[:-1]):
        if i == 0 or number(height, 1) != number(heights[i - 1], 1):
            style.say(axes, number(height, 1), (i, height), (0, 4 * up), ha="center", **side)
    style.say(axes, number(heights[last], 1), (last, heights[last]), (5, up), **side)


def _levels(releases: Sequence[Release], case: str) -> list[list[float]]:
    """Of each release the peaks in GB: reserved, then allocated."""
    peaks = [release.highest(case) for release in releases]
    if None in peaks:
        raise AbsentError(f"{case} of every release")
    return [[size / GB for size in level] for level in zip(*peaks, strict=True)][::-1]


def _panel(axes: Axes, levels: Sequence[Sequence[float]], releases: Sequence[Release]) -> None:
    for heights, look in zip(levels, _LEVELS, strict=True):
        _curve(axes, heights, look, above=look is _LEVELS[0])
    low, high = min(map(min, levels)), max(map(max, levels))
    span = (1 + 2 * _ROOM) * max(high - low, _LEAST_SPAN)
    axes.set_ylim((low + high - span) / 2, (low + high + span) / 2)
    axes.set_xlim(-0.45, len(releases) - 0.25)
    axes.set_xticks(range(len(releases)), [_short(release) for release in releases], fontsize=8)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=0)


def draw(inputs: Inputs) -> Picture:
    if inputs.releases is None:
        raise AbsentError("data/releases")
    found = inputs.releases
    releases = _of_pytorch(found)
    cases = {row["name"]: row["case"] for change in found.changes for row in change["rows"]}
    every = {
        title: _levels(releases, cases[name]) for name, title in _DRAWN.items() if name in cases
    }
    if not every:
        raise AbsentError("cases of which all is told")
    moved = {title: reserved[-1] - reserved[0] for title, (reserved, _) in every.items()}
    most = [
        f"{title} {with_unit(number(more, 1, signed=True), 'GB')}"
        for title, more in moved.items()
        if abs(more) >= _LEAST_TOLD
    ]
    ends = " to ".join(map(_short, (releases[0], releases[-1])))
    headline = f"Reserved at most, from PyTorch {ends}: {'; '.join(most) or 'the same'}"
    figure = style.new_figure(_HEIGHT, headline)
    for axes, (title, levels) in zip(
        style.grid(figure, len(every), len(every)), every.items(), strict=True
    ):
        _panel(axes, levels, releases)
        axes.set_title(title, fontsize=9)
    looks = [
        (name, Line2D([], [], color=color, marker=marker, markersize=4))
        for name, color, marker in _LEVELS
    ]
    style.key(figure, looks, len(looks))
    said = [
        f"{title}: {name} {', '.join(number(height, 1) for height in heights)}"
        for title, levels in every.items()
        for (name, *_), heights in zip(_LEVELS, levels, strict=True)
    ]
    return Picture(
        key="releases",
        title=headline,
        alt="; ".join(said) + " GB",
        note=words.note("releases", "picture"),
        figure=figure,
        signature="vramfit: make releases; simulated, no GPU was asked",
    )
