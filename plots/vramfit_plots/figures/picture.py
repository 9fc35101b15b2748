"""A picture and what is said about it."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from vramfit_plots.captions import Caption, caption, signature
from vramfit_plots.inputs import Inputs


@dataclass(frozen=True)
class Picture:
    key: str  # also its files' name
    title: str  # what it shows, in a sentence; it stands in the picture
    alt: str  # its figures, for those who do not see it
    caption: Caption
    figure: Figure
    signature: str  # for a copy without its caption
    large: bool = False  # has more in it than half a page's width shows


def drawn(
    inputs: Inputs,
    key: str,
    title: str,
    figure: Figure,
    *,
    said: Sequence[str],
    rows: str,
    note: str,
    unit: str = "",
    large: bool = False,
) -> Picture:
    """Of the run. `said` are its figures in words, all in the unit; `rows` is a pattern of its
    rows' names, "" where they are not the run's."""
    alt = "; ".join(said) + (f" {unit}" if unit else "")
    return Picture(key, title, alt, caption(inputs, rows, note), figure, signature(inputs), large)
