"""An answer drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vramfit._bad_input import bad_input
from vramfit._card import CardAnswer
from vramfit._picture import COLOURS, VERDICTS, gigabytes, parts, sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(cards: Sequence[CardAnswer], ax: Axes | None) -> Axes:
    """One bar for each card, stacked by component, with the card's memory marked."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise bad_input("plot: needs matplotlib; pip install 'vramfit[plot]'") from None
        _, ax = pyplot.subplots(figsize=(8, 1.6 + 0.4 * len(cards)), layout="constrained")
    named: set[str] = set()
    for row, card in enumerate(cards):
        left = 0.0
        for name, size in parts(card).items():
            label = None if name in named else name.replace("_", " ")
            ax.barh(row, size / 1e9, left=left, color=COLOURS.get(name, "black"), label=label)
            named.add(name)
            left += size / 1e9
        ax.plot([card.vram / 1e9] * 2, [row - 0.45, row + 0.45], color="black", linewidth=2)
    ax.set_yticks(
        range(len(cards)),
        [card.gpu or gigabytes(card.vram) for card in cards],
    )
    ax.set_xlabel("GB (1e9 bytes); the line: VRAM")
    ax.legend(ncols=5, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.35))
    if len(cards) == 1:
        ax.set_title(sentence(cards[0]), color=VERDICTS[cards[0].verdict], fontsize="medium")
    return ax
