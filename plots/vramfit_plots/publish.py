"""Writes tables and pictures as files of their own.

Figure.savefig() would draw each file twice: once to lay it out, which drawing does itself."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG

from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.tables.table import Table, html_fragment, markdown_fragment


@dataclass(frozen=True)
class Section:
    """Of a page."""

    tables: list[Table]
    picture: Picture | None
    not_drawn: str  # why there is no picture; "" where none is meant
    svg: str = ""

    @property
    def large(self) -> bool:
        """Whether its picture is as wide as the page."""
        return self.picture is not None and self.picture.large

    @property
    def anchor(self) -> str:
        return self.tables[0].key


def signed_svg(picture: Picture) -> str:
    """The picture with its signature; within style.styled()."""
    style.sign(picture.figure, picture.signature)
    svg = io.StringIO()
    canvas = FigureCanvasSVG(picture.figure)
    canvas.print_svg(svg, metadata={"Date": None, "Creator": None})
    # As it is laid out now it stays: doing that again for the bitmap takes as long as drawing.
    picture.figure.set_layout_engine("none")
    return svg.getvalue()


def write_picture(picture: Picture, svg: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{picture.key}.svg").write_text(svg, encoding="utf-8")
    with style.styled():
        picture.figure.set_dpi(style.PNG_DPI)
        canvas = FigureCanvasAgg(picture.figure)
        canvas.print_png(folder / f"{picture.key}.png", metadata={"Software": None})


def write_fragments(tables: Sequence[Table], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        (folder / f"{table.key}.html").write_text(html_fragment(table), encoding="utf-8")
        (folder / f"{table.key}.md").write_text(markdown_fragment(table), encoding="utf-8")
