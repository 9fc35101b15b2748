"""How exact the stand-in is, as a picture: each case on the diagonal, and how far beside it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from programs import ROOT
from vramfit_plots.catalogues import load_cards
from vramfit_plots.figures import diagonal, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.units import GB, MINUS, in_words, percent

from exact.cases import KINDS, Case
from exact.comparison import Line
from exact.table import highest_peaks, summed

_WIDTH, _HEIGHT = 8.3, 3.9  # inches: as wide as a README is shown, 830 px
_SIZES = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)  # GB
_MARGIN = 1.25
_LEAST = 1e-5  # the scale of errors begins there: what is less, and not equal, stands there too
_ERRORS = (1e-4, 1e-2, 1)
_EQUAL = 2.1  # half as wide as the field of those that are equal; a factor of ten of error is 1
_DOTS_IN_A_ROW = 20
_APART = 0.19, 0.125  # of those dots: in factors of ten, in rows


@dataclass(frozen=True)
class _Peak:
    """A case's highest, reserved; the error is allocated's where that is the larger."""

    measured: int
    played: int
    error: float


@dataclass(frozen=True)
class _Kind:
    name: str
    cases: int
    equal: int
    peaks: list[_Peak]  # of those that ran to their end
    look: dict[str, Any]

    @property
    def told(self) -> str:
        return f"{self.equal} of {self.cases}"


def _peaks(pairs: Iterable[tuple[Case, Line]]) -> Iterable[_Peak]:
    for case, line in pairs:
        found = highest_peaks(case, line)
        if found is not None:
            measured, played = found
            errors = [mine / theirs - 1 for mine, theirs in zip(played, measured, strict=True)]
            yield _Peak(measured[-1], played[-1], max(errors, key=abs))


def _kinds(played: Sequence[tuple[Case, Line]]) -> list[_Kind]:
    there = [kind for kind in KINDS if any(case.kind == kind for case, _ in played)]
    found = []
    for name, (color, marker) in zip(there, style.curves(len(there)), strict=True):
        pairs = [(case, line) for case, line in played if case.kind == name]
        total = summed(pairs)
        look = {"linestyle": "none", "marker": marker, "color": color, "zorder": 3}
        found.append(_Kind(name, total.cases, total.as_measured, list(_peaks(pairs)), look))
    return found


def _diagonal(axes: Axes, kinds: Sequence[_Kind]) -> None:
    values = [value / GB for kind in kinds for p in kind.peaks for value in (p.measured, p.played)]
    low, high = min(values, default=1) / _MARGIN, max(values, default=100) * _MARGIN
    diagonal.begin(axes, low, high)
    for kind in kinds:
        measured = [peak.measured / GB for peak in kind.peaks]
        played = [peak.played / GB for peak in kind.peaks]
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.4}
        axes.plot(measured, played, markersize=5.5, **edge, **kind.look)
    diagonal.finish(axes, low, high, _SIZES)
    axes.set_xlabel("measured on the GPU")
    axes.set_ylabel("vramfit run")
    axes.set_title("Highest peak reserved, GB")


def _place(error: float) -> float:
    """Of one that is not 0, on an axis of factors of ten either way."""
    return math.copysign(_EQUAL + math.log10(max(abs(error) / _LEAST, 1)), error)


def _dots(count: int) -> tuple[list[float], list[float]]:
    """So many side by side, about 0."""
    rows = math.ceil(count / _DOTS_IN_A_ROW)
    columns = math.ceil(count / max(rows, 1))
    places = [divmod(i, columns) for i in range(count)]
    x = [_APART[0] * (column - (columns - 1) / 2) for _, column in places]
    return x, [_APART[1] * (row - (rows - 1) / 2) for row, _ in places]


def _errors(axes: Axes, kinds: Sequence[_Kind]) -> None:
    axes.axvspan(-_EQUAL, _EQUAL, color="#f0f0f0", linewidth=0, zorder=0)
    off = [[peak.error for peak in kind.peaks if peak.error] for kind in kinds]
    for row, (kind, errors) in enumerate(zip(kinds, off, strict=True)):
        x, y = _dots(len(kind.peaks) - len(errors))
        axes.plot(x, [row + high for high in y], markersize=3.1, markeredgewidth=0, **kind.look)
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.4}
        places = [_place(error) for error in errors]
        axes.plot(places, [row] * len(places), markersize=5.5, **edge, **kind.look)
    most = max((abs(error) for errors in off for error in errors), default=0)
    shown = [error for error in _ERRORS if error <= max(most, 1e-2)]
    ticks = [-error for error in reversed(shown)] + shown
    words = [f"{100 * tick:+g}".replace("-", MINUS) for tick in ticks]
    words.insert(len(shown), "equal")
    axes.set_xticks([*map(_place, ticks[: len(shown)]), 0, *map(_place, shown)], words)
    reach = max(_place(most or _LEAST), _place(shown[-1])) + 0.15
    axes.set_xlim(-reach, reach)
    axes.set_ylim(len(kinds) - 0.5, -0.5)
    axes.grid(axis="x")
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel("error of the peak, %")
    axes.set_title("Each case, and how many are equal", loc="right")
    axes.set_yticks(range(len(kinds)), [kind.name for kind in kinds])
    for label, kind in zip(axes.get_yticklabels(), kinds, strict=True):
        label.set(color=kind.look["color"], weight="bold")
    counts = axes.secondary_yaxis("right")
    counts.set_yticks(range(len(kinds)), [kind.told for kind in kinds])
    counts.tick_params(length=0)
    counts.spines["right"].set_visible(False)


def draw(lines: Iterable[Line], every: Iterable[Case]) -> Picture:
    """Of the lines' cases."""
    by_name = {case.name: case for case in every}
    kinds = _kinds([(by_name[line["name"]], line) for line in lines])
    cases, equal = sum(kind.cases for kind in kinds), sum(kind.equal for kind in kinds)
    worst = max((peak.error for kind in kinds for peak in kind.peaks), key=abs, default=0.0)
    cards = load_cards(ROOT / "data" / "gpus.json")
    title = (
        f"vramfit run, without a GPU: in {equal} of {cases} cases PyTorch's highest peaks are "
        "those measured on the GPU, to the byte"
    )
    figure = style.new_figure(_HEIGHT, title, _WIDTH)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _diagonal(left, kinds)
    _errors(right, kinds)
    told = ", ".join(f"{kind.name} {kind.told}" for kind in kinds)
    return Picture(
        key="run",
        title=title,
        alt=f"{title}: {told}; the largest error is {percent(worst, 2)}",
        note="GB is 1e9 bytes. The error is that of what is allocated or of what is reserved, "
        "whichever is larger. A case that did not run to its end is counted, without a dot.",
        figure=figure,
        signature="vramfit: make exact; measured in PyTorch on "
        + in_words(sorted({cards[case.card].title for case in by_name.values()})),
    )


def markdown(drawn: Picture) -> str:
    """As docs/accuracy.md shows it."""
    return f"![{drawn.alt}](../plots/pictures/{drawn.key}.png)"
