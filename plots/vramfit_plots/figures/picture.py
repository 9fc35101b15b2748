"""A picture and what is said about it."""

from dataclasses import dataclass

from matplotlib.figure import Figure

from vramfit_plots.captions import Caption


@dataclass(frozen=True)
class Picture:
    key: str  # also its files' name
    title: str  # what it shows, in a sentence; it stands in the picture
    alt: str  # its figures, for those who do not see it
    caption: Caption
    figure: Figure
    signature: str  # for a copy without its caption
    large: bool = False  # has more in it than half a page's width shows
