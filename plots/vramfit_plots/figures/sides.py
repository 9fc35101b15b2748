"""Who is drawn: the article, vramfit and PyTorch, each of the two as measured where it was."""

from collections.abc import Collection

from vramfit_plots.cells import Cell, has_figures
from vramfit_plots.sources import ARTICLE, MEASURED, PREDICTED, TORCH, TORCH_MEASURED, Source


def sides(cells: Collection[Cell]) -> list[Source]:
    """What was measured stands for a side only where nothing more is predicted."""
    chosen = [ARTICLE] if has_figures(cells, ARTICLE) else []
    for measured, predicted in ((MEASURED, PREDICTED), (TORCH_MEASURED, TORCH)):
        lacking = any(cell.has(predicted) and not cell.has(measured) for cell in cells)
        source = predicted if lacking else measured
        if has_figures(cells, source):
            chosen.append(source)
    return chosen


def our_side(cells: Collection[Cell]) -> Source | None:
    return next((source for source in sides(cells) if source in {MEASURED, PREDICTED}), None)


def their_side(cells: Collection[Cell]) -> Source | None:
    return next((source for source in sides(cells) if source in {TORCH_MEASURED, TORCH}), None)
