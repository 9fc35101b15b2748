"""FITS or OOM, by what was measured, what is predicted and what a formula gives."""

from collections.abc import Mapping

from vramfit_plots.accuracy.cases import Case
from vramfit_plots.cards import Card

CARDS = ("rtx4090", "a100-40gb", "rtx6000-ada", "h100-80gb")  # of 24, 40, 48 and 80 GB


def wrong(case: Case, said: float, measured: Card, cards: Mapping[str, Card]) -> list[str]:
    """The cards on which `said`, bytes of a card in all, gives another verdict than what the case
    was `measured` to take on its own, driver included."""
    taken = case.peak["device_used"] + measured.driver_reserved
    return [name for name in CARDS if (said <= cards[name].vram) != (taken <= cards[name].vram)]
