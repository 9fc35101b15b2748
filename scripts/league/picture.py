"""The league as a picture: each row on the diagonal, and its error by whose it is."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from vramfit_plots.figures import diagonal, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.units import GB, MINUS, percent

from league.rows import KINDS
from league.scores import Score

_WIDTH, _HEIGHT = 8.3, 4.2  # inches: as wide as a README is shown, 830 px
_SIZES = (0.2, 0.5, 1, 2, 5, 10, 20, 50)  # GB
_ERRORS = (0.01, 0.1, 1)
_LINEAR = 1e-3  # errors below that, either way, are to scale
_EDGE = {"markeredgewidth": 0.9, "linestyle": "none", "markersize": 5.2}


def _look(score: Score, color: str, marker: str) -> dict[str, Any]:
    """A bound is hollow."""
    face = "white" if score.is_bound else color
    return {**_EDGE, "marker": marker, "markeredgecolor": color, "markerfacecolor": face}


def _diagonal(axes: Axes, found: Sequence[Score], looks: Mapping[str, tuple[str, str]]) -> None:
    values = [v / GB for s in found for v in (s.row.measured, s.said.predicted)]
    low, high = min(values) / 1.3, max(values) * 1.3
    diagonal.begin(axes, low, high)
    for score in found:
        place = score.row.measured / GB, score.said.predicted / GB
        axes.plot(*place, zorder=3, **_look(score, *looks[score.row.kind]))
    diagonal.finish(axes, low, high, _SIZES)
    axes.set_xlabel("measured by others")
    axes.set_ylabel("vramfit")
    axes.set_title("GB")


def _told(error: float, _: int) -> str:
    return "0" if error == 0 else f"{100 * error:+g}".replace("-", MINUS)


def _errors(
    axes: Axes, groups: Mapping[str, Sequence[Score]], looks: Mapping[str, tuple[str, str]]
) -> None:
    axes.axvspan(-0.01, 0.01, color="#f0f0f0", linewidth=0, zorder=0)
    axes.axvline(0, color=style.FAINT, linewidth=0.8, zorder=1)
    axes.set_xscale("symlog", linthresh=_LINEAR, linscale=0.8)
    for line, group in enumerate(groups.values()):
        beside = np.linspace(-0.28, 0.28, len(group)) if len(group) > 1 else [0.0]
        for score, off in zip(group, beside, strict=True):
            axes.plot(score.error, line + off, zorder=3, **_look(score, *looks[score.row.kind]))
    axes.xaxis.set_major_locator(FixedLocator([*(-e for e in _ERRORS), 0, *_ERRORS]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_told))
    most = max(abs(score.error) for group in groups.values() for score in group)
    axes.set_xlim(-max(most, 1) * 1.6, max(most, 1) * 1.6)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_yticks(range(len(groups)), list(groups))
    for label, group in zip(axes.get_yticklabels(), groups.values(), strict=True):
        label.set(color=looks[group[0].row.kind][0], fontsize=9)
    axes.tick_params(length=0)
    axes.grid(axis="x")
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel("error, %; 1 % and less is shaded")
    axes.set_title("Each row", loc="left")


def _grouped(found: Sequence[Score], titles: Mapping[str, str]) -> dict[str, list[Score]]:
    """By publisher and card, kinds in their order."""
    groups: dict[str, list[Score]] = {}
    for score in sorted(found, key=lambda score: KINDS.index(score.row.kind)):
        row = score.row
        name = row.source.partition("/")[2] or row.source
        card = titles.get(row.card or "", row.gpu)
        for maker in ("NVIDIA ", "GeForce ", " HBM3"):
            card = card.replace(maker, "")
        groups.setdefault(f"{name}\n{row.kind}, {card}", []).append(score)
    return groups


def draw(found: Sequence[Score], titles: Mapping[str, str]) -> Picture:
    drawn = [score for score in found if score.error is not None]
    kinds = [kind for kind in KINDS if any(score.row.kind == kind for score in drawn)]
    looks = dict(zip(kinds, style.curves(len(kinds)), strict=True))
    groups = _grouped(drawn, titles)
    inference = [abs(s.error) for s in drawn if s.row.kind == "inference"]
    near = sum(error <= 0.01 for error in inference)
    title = (
        f"What others measured on their own cards: of {len(inference)} rows of generation "
        f"{near} are met within 1 %"
    )
    figure = style.new_figure(_HEIGHT, title, _WIDTH)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _diagonal(left, drawn, looks)
    _errors(right, groups, looks)
    handles = [
        Line2D([], [], **{**_EDGE, "marker": marker, "color": color})
        for color, marker in looks.values()
    ]
    hollow = {**_EDGE, "marker": "o", "markeredgecolor": style.INK, "markerfacecolor": "white"}
    handles.append(Line2D([], [], **hollow))
    style.key(figure, list(zip([*kinds, "a bound"], handles, strict=True)), len(handles))
    told = "; ".join(
        f"{name.replace(chr(10), ', ')}: {len(group)} rows, "
        f"{percent(min(s.error for s in group), 2)} to {percent(max(s.error for s in group), 2)}"
        for name, group in groups.items()
    )
    return Picture(
        key="league",
        title=title,
        alt=f"{title}. {told}",
        note="GB is 1e9 bytes.",
        figure=figure,
        signature="vramfit: make league; measured and published by those named",
    )
