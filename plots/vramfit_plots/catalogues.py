"""The catalogues: GPUs, data/gpus.json, and what is published about models, data/models."""

from dataclasses import dataclass
from pathlib import Path

from vramfit_plots.files import BadInputError, Catalogue
from vramfit_plots.schemas import read_json

# What is gone from a card before a run allocates anything.
_TAKEN = ("driver_reserved", "context", "cublaslt", "cudnn", "modules")


@dataclass(frozen=True)
class Card:
    name: str
    titles: frozenset[str]  # what the driver calls it, and variants with the same facts
    title: str
    vram: int  # bytes in all, as nvidia-smi counts
    driver_reserved: int  # bytes that cudaMemGetInfo does not count
    overhead: int  # bytes that driver, context and libraries take in all
    assumed_from: str | None  # the card that the overhead was measured on, if not this one

    @property
    def short_title(self) -> str:
        title = self.title.removeprefix("NVIDIA ").removeprefix("GeForce ")
        return title.removesuffix(" Generation").removesuffix(" HBM3")


def load_cards(path: Path) -> Catalogue[Card]:
    listed = {card["name"]: card for card in read_json(path, "gpus")["cards"]}
    measured = {
        name: card["overhead"]
        for name, card in listed.items()
        if "assumed_from" not in card["overhead"]
    }
    cards = {}
    for name, card in listed.items():
        assumed_from = card["overhead"].get("assumed_from")
        source = name if assumed_from is None else assumed_from
        if source not in measured:
            raise BadInputError(f"{path}: {name}: overhead of '{source}', which was not measured")
        overhead = measured[source]
        cards[name] = Card(
            name=name,
            titles=frozenset([card["title"], *card.get("other_titles", [])]),
            title=card["title"],
            vram=card["total_bytes"]["value"],
            driver_reserved=overhead["driver_reserved"]["bytes"],
            overhead=sum(overhead[part]["bytes"] for part in _TAKEN if part in overhead),
            assumed_from=assumed_from,
        )
    return Catalogue(path, cards)


@dataclass(frozen=True)
class Model:
    name: str
    parameters: int  # published count


def load_models(folder: Path) -> Catalogue[Model]:
    path = folder / "parameters.json"
    published = read_json(path, "models")
    return Catalogue(
        path, {name: Model(name, entry["parameters"]) for name, entry in published.items()}
    )
