"""A picture, what is said about it, and its files.

Figure.savefig() would draw each file twice: once to lay it out, which drawing does itself."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from vramfit_plots import words
from vramfit_plots.captions import signature
from vramfit_plots.figures import style
from vramfit_plots.figures.dark import follows_the_screen
from vramfit_plots.inputs import Inputs

NARROW = "narrow"  # the folder of pictures for phones


@dataclass(frozen=True)
class Picture:
    key: str  # also its files' name
    title: str  # what it shows, in a sentence; it stands in the picture
    alt: str  # its figures, for those who do not see it
    note: str  # how to read it
    figure: Figure
    signature: str  # for a copy without its note
    narrow: Figure | None = None  # the same for a phone

    @property
    def width(self) -> int:
        """Of a page's pixels, at the size that its fonts are meant for."""
        return round(100 * self.figure.get_figwidth())

    @property
    def height(self) -> int:
        return round(100 * self.figure.get_figheight())

    @cached_property
    def svg(self) -> str:
        return _svg(self.figure, self.signature)

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.key}.svg").write_text(self.svg, encoding="utf-8")
        with style.styled():
            self.figure.set_dpi(style.PNG_DPI)
            canvas = FigureCanvasAgg(self.figure)
            canvas.print_png(folder / f"{self.key}.png", metadata={"Software": None})
        if self.narrow:
            path = folder / NARROW / f"{self.key}.svg"
            path.parent.mkdir(exist_ok=True)
            path.write_text(_svg(self.narrow, self.signature), encoding="utf-8")


def _svg(figure: Figure, signature: str) -> str:
    with style.styled():
        style.sign(figure, signature)
        svg = io.StringIO()
        canvas = FigureCanvasSVG(figure)
        canvas.print_svg(svg, metadata={"Date": None, "Creator": None})
    # As it is laid out now it stays: doing that again for the bitmap takes as long as drawing.
    figure.set_layout_engine("none")
    return follows_the_screen(svg.getvalue())


def drawn(
    inputs: Inputs,
    key: str,
    title: str,
    figure: Figure,
    said: Sequence[str],
    *,
    unit: str = "",
    **figures: Any,
) -> Picture:
    """Of the run. `said` are its figures in words, all in the unit; its note is that of words.json,
    with `figures` in it."""
    alt = "; ".join(said) + (f" {unit}" if unit else "")
    note = words.note(key, "picture", **figures)
    return Picture(key, title, alt, note, figure, signature(inputs))
