"""The GPU catalogue, data/gpus.json."""

from dataclasses import dataclass
from pathlib import Path

from vramfit_plots.errors import BadInputError
from vramfit_plots.files import read_json

# What is gone from a card before a run allocates anything.
_TAKEN = ("driver_reserved", "context", "cublaslt", "cudnn", "modules")


@dataclass(frozen=True)
class Card:
    name: str
    title: str
    vram: int  # bytes in all, as nvidia-smi counts
    driver_reserved: int  # bytes that cudaMemGetInfo does not count
    overhead: int  # bytes that driver, context and libraries take in all
    assumed_from: str | None  # the card that the overhead was measured on, if not this one


def load_cards(path: Path) -> dict[str, Card]:
    listed = {card["name"]: card for card in read_json(path)["cards"]}
    cards = {}
    for name, card in listed.items():
        assumed_from = card["overhead"].get("assumed_from")
        if assumed_from is not None and assumed_from not in listed:
            raise BadInputError(
                f"{path}: {name}: overhead of '{assumed_from}', which is not listed"
            )
        overhead = listed[assumed_from]["overhead"] if assumed_from else card["overhead"]
        cards[name] = Card(
            name=name,
            title=card["title"],
            vram=card["total_bytes"]["value"],
            driver_reserved=overhead["driver_reserved"]["bytes"],
            overhead=sum(overhead[part]["bytes"] for part in _TAKEN if part in overhead),
            assumed_from=assumed_from,
        )
    return cards
