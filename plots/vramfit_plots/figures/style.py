"""How pictures look: Okabe and Ito's colours, which colour-blind eyes tell apart, and a hatch or a
label with each, which survive a black-and-white printer."""

import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from vramfit_plots.sources import Source

WIDTH = 7.0  # inches; 700 px at the 100 dpi that the fonts are sized for
_NARROW = 3.9  # inches: a phone's width at the same dpi
_LOWER = 0.75  # of a panel's height, where panels stand below each other
_HIGHEST = 100  # inches: files of bitmaps end at 65,536 pixels
_HEADLINE = 11.5  # points
_LETTERS_PER_INCH, _LINE_INCHES = 10.1, 0.2  # of headlines
PNG_DPI = 200  # twice that, for sharp screens and for print
INK = "#222222"
FAINT = "#707070"
GRID = "#d9d9d9"
RIGHT, WRONG = "#00704f", "#a83c00"  # of words: whether the article is met

_RC = {
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10,
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

    def patch(self) -> Patch:
        """For a legend."""
        return Patch(facecolor=self.color, **self._surface())

    def _surface(self) -> dict[str, Any]:
        return {"hatch": self.hatch, "edgecolor": self.edge, "linewidth": 0.8}


ARTICLE = Look("#e6e6e6", "////", "#6e6e6e")
# A side has one hue, vramfit blue and PyTorch orange; what is predicted is hatched.
PREDICTED = Look("#0072B2", "....")
MEASURED = Look("#0072B2")
TORCH = Look("#E69F00", "xxxx")
TORCH_MEASURED = Look("#E69F00")
LINE_OF = {"vramfit": MEASURED.color, "PyTorch": TORCH_MEASURED.color}
WORDS_OF = {"vramfit": MEASURED.color, "PyTorch": "#8f6200"}  # as dark as words have to be
ON_BAR_OF = {"vramfit": "white", "PyTorch": "#1a1a1a"}  # words that stand on the colour
BY_SOURCE = {
    "article": ARTICLE,
    "predicted": PREDICTED,
    "measured": MEASURED,
    "pytorch-predicted": TORCH,
    "pytorch-measured": TORCH_MEASURED,
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


_CURVES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#7f7f7f", INK)
_MARKERS = "os^DvpX<>"


def curves(count: int) -> list[tuple[str, str]]:
    """A colour and a marker for each of so many curves."""
    return [(_CURVES[i % len(_CURVES)], _MARKERS[i % len(_MARKERS)]) for i in range(count)]


_for_phones: ContextVar[bool] = ContextVar("for_phones", default=False)


@contextmanager
def for_phones() -> Iterator[None]:
    """What is drawn meanwhile has its panels below each other, and its words at the same size."""
    before = _for_phones.set(True)
    try:
        yield
    finally:
        _for_phones.reset(before)


def is_narrow() -> bool:
    return _for_phones.get()


@contextmanager
def styled() -> Iterator[None]:
    """What matplotlib advises those who draw by hand (fonts, room for labels) is not for users."""
    with mpl.rc_context(_RC), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _balanced(text: str, width: int) -> list[str]:
    """In as few lines as there have to be, about equally long."""
    count = len(textwrap.wrap(text, width))
    narrower = (textwrap.wrap(text, w) for w in range(len(text) // max(count, 1), width))
    return next((lines for lines in narrower if len(lines) == count), textwrap.wrap(text, width))


def new_figure(height: float, headline: str, width: float = WIDTH) -> Figure:
    """Not pyplot's: no global state, no window. With very many rows they are thinner. `headline`
    is what the picture shows, in a sentence."""
    width = _NARROW if is_narrow() else width
    lines = _balanced(headline, int(_LETTERS_PER_INCH * width))
    height = min(height + _LINE_INCHES * len(lines), _HIGHEST)
    figure = Figure(figsize=(width, height))
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=_HEADLINE, weight="bold")
    return figure


def key(figure: Figure, looks: Sequence[tuple[str, Artist]], columns: int) -> None:
    """What looks mean, by name. It stands below the headline, whose place a legend that is laid out
    by itself would take: so the headline is its title."""
    headline = figure.get_suptitle()
    figure.suptitle("")
    legend = figure.legend(
        [artist for _, artist in looks],
        [name for name, _ in looks],
        title=headline,
        title_fontproperties={"weight": "bold", "size": _HEADLINE},
        alignment="left",
        ncols=min(columns, 2) if is_narrow() else columns,
        fontsize=8.5 if is_narrow() else None,
        loc="outside upper left",
        borderaxespad=0,
    )
    legend.get_title().set_multialignment("left")


def key_of(
    figure: Figure, sources: Iterable[Source], *more: tuple[str, Artist], columns: int = 9
) -> None:
    """Of sources, and what there is more, side by side."""
    looks = [(source.heading, BY_SOURCE[source.key].patch()) for source in sources]
    key(figure, [*looks, *more], min(len(looks) + len(more), columns))


def say(
    axes: Axes,
    text: str,
    at: tuple[float, float],
    offset: tuple[float, float],
    *,
    strong: bool = False,
    faint: bool = False,
    size: float = 9,
    color: str = INK,
    over_lines: bool = False,
    **how: Any,
) -> None:
    """A label at a point of the data, `offset` points away."""
    label = axes.annotate(
        text,
        at,
        offset,
        textcoords="offset points",
        fontsize=size,
        weight="bold" if strong and not faint else "normal",
        color=FAINT if faint else color,
        **how,
    )
    if over_lines:
        label.set_path_effects([withStroke(linewidth=2, foreground="white")])


def apart(places: Sequence[float], least: float) -> list[float]:
    """The same, from the lowest up, each moved up as far as it has to be."""
    moved: dict[int, float] = {}
    free = 0.0
    for i in sorted(range(len(places)), key=places.__getitem__):
        moved[i] = max(places[i], free)
        free = moved[i] + least
    return [moved[i] for i in range(len(places))]


def grid(figure: Figure, count: int, columns: int, **how: Any) -> list[Axes]:
    """So many axes in rows of `columns`; what is over of the last row is not seen."""
    if is_narrow() and columns > 1:
        lines = -(-count // columns)
        figure.set_figheight(figure.get_figheight() * _LOWER * count / lines)
        columns = 1
        how.pop("width_ratios", None)
    every = figure.subplots(-(-count // columns), columns, squeeze=False, **how)
    for axes in every.flat[count:]:
        axes.set_visible(False)
    return list(every.flat[:count])


def stack(
    axes: Axes, y: float, parts: Iterable[tuple[float, Look]], thickness: float, start: float = 0.0
) -> float:
    """Parts of a bar, one after another from the left; its end comes back."""
    for length, look in parts:
        axes.barh(y, length, thickness, start, **look.bar())
        start += length
    return start


def bare(axes: Axes) -> None:
    """Of ticks."""
    axes.tick_params(length=0)
    axes.spines["left"].set_color(INK)


def level_grid(axes: Axes) -> None:
    """Lines to read heights off, no tick marks."""
    axes.grid(axis="y")
    axes.tick_params(length=0)
    axes.spines["bottom"].set_color(INK)


def sign(figure: Figure, text: str) -> None:
    """A picture is copied without its caption: a line in it says where it comes from."""
    figure.supxlabel(text, x=0.01, ha="left", fontsize=7.5, color="#666666")
