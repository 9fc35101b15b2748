"""What is published about the models, data/models."""

from dataclasses import dataclass
from pathlib import Path

from vramfit_plots.files import Catalogue
from vramfit_plots.schemas import read_json


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
