"""Writes tables and pictures as files of their own."""

import io
from collections.abc import Sequence
from pathlib import Path

from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.tables.table import Table, html_fragment, markdown_fragment


def signed_svg(picture: Picture) -> str:
    """The picture with its signature; within style.styled()."""
    style.sign(picture.figure, picture.signature)
    svg = io.StringIO()
    picture.figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    # As it is laid out now it stays: doing that again for the bitmap takes as long as drawing.
    picture.figure.set_layout_engine("none")
    return svg.getvalue()


def write_picture(picture: Picture, svg: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{picture.key}.svg").write_text(svg, encoding="utf-8")
    with style.styled():
        picture.figure.savefig(
            folder / f"{picture.key}.png", dpi=style.PNG_DPI, metadata={"Software": None}
        )


def write_fragments(tables: Sequence[Table], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        (folder / f"{table.key}.html").write_text(html_fragment(table), encoding="utf-8")
        (folder / f"{table.key}.md").write_text(markdown_fragment(table), encoding="utf-8")
