"""How pictures look: Okabe and Ito's colours, which colour-blind eyes tell apart, and a hatch or a
label with each, which survive a black-and-white printer."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH = 7.0  # inches; 700 px at the 100 dpi that the fonts are sized for
_HIGHEST = 100  # inches: files of bitmaps end at 65,536 pixels
PNG_DPI = 200  # twice that, for sharp screens and for print
INK = "#222222"
FAINT = "#707070"
GRID = "#d9d9d9"

_RC = {
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "text.parse_math": False,  # a $ in a name is a $
    "svg.hashsalt": "vramfit",  # so that the same figures make the same file
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Look:
    color: str
    hatch: str = ""
    edge: str = "white"

    def bar(self) -> dict[str, Any]:
        """For Axes.bar and Axes.barh."""
        return {"color": self.color, **self._surface()}

    def patch(self) -> dict[str, Any]:
        """For a legend."""
        return {"facecolor": self.color, **self._surface()}

    def _surface(self) -> dict[str, Any]:
        return {"hatch": self.hatch, "edgecolor": self.edge, "linewidth": 0.8}


ARTICLE = Look("#e6e6e6", "////", "#6e6e6e")
PREDICTED = Look("#0072B2")
MEASURED = Look("#D55E00", "....")
TORCH = Look("#56B4E9", "xxxx")
TORCH_MEASURED = Look("#E69F00", "\\\\\\\\")
BY_SOURCE = {
    "article": ARTICLE,
    "predicted": PREDICTED,
    "measured": MEASURED,
    "torch": TORCH,
    "torch_measured": TORCH_MEASURED,
}

BY_CATEGORY = {
    "parameters": Look("#0072B2"),
    "gradients": Look("#E69F00", "////"),
    "optimizer_state": Look("#009E73", "...."),
    "activations": Look("#CC79A7", "\\\\\\\\"),
    "kv_cache": Look("#56B4E9", "xxxx"),
    "workspace": Look("#D55E00", "++++"),
    "inputs": Look("#999999"),
    "communication": Look("#F0E442", "oooo"),
}


@contextmanager
def styled() -> Iterator[None]:
    """What matplotlib advises those who draw by hand (fonts, room for labels) is not for users."""
    with mpl.rc_context(_RC), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def new_figure(height: float) -> Figure:
    """Not pyplot's: no global state, no window. With very many rows they are thinner."""
    return Figure(figsize=(WIDTH, min(height, _HIGHEST)))


def say(
    axes: Axes,
    text: str,
    at: tuple[float, float],
    offset: tuple[float, float],
    *,
    strong: bool = False,
    faint: bool = False,
    **how: Any,
) -> None:
    """A label at a point of the data, `offset` points away."""
    axes.annotate(
        text,
        at,
        offset,
        textcoords="offset points",
        fontsize=9,
        weight="bold" if strong and not faint else "normal",
        color=FAINT if faint else INK,
        **how,
    )


def level_grid(axes: Axes) -> None:
    """Lines to read heights off, no tick marks."""
    axes.grid(axis="y")
    axes.tick_params(length=0)
    axes.spines["bottom"].set_color(INK)


def sign(figure: Figure, text: str) -> None:
    """A picture is copied without its caption: a line in it says where it comes from."""
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7.5, color="#666666")
