"""What there is data on: models and cards."""

from __future__ import annotations

from dataclasses import dataclass

from vramfit import _core


@dataclass(frozen=True)
class Card:
    """A card of the catalogue."""

    name: str  #: as `gpu=` takes it
    title: str  #: as its driver calls it
    vram: int  #: bytes in all
    #: "CUDA"; of others, "ROCm" or "Metal", sizes alone are known, to `runtime="llama.cpp"`
    platform: str = "CUDA"


def models() -> list[str]:
    """Names that `model=` takes, beside Hugging Face ids, folders and paths."""
    return _core.models()


def cards() -> list[Card]:
    """Cards that `gpu=` takes, the smallest first."""
    return sorted((Card(*each) for each in _core.cards()), key=lambda card: card.vram)
