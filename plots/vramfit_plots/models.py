"""What is published about the models, data/models."""

from dataclasses import dataclass
from pathlib import Path

from vramfit_plots.files import read_json


@dataclass(frozen=True)
class Model:
    name: str
    parameters: int  # published count


def load_models(folder: Path) -> dict[str, Model]:
    published = read_json(folder / "parameters.json")
    return {name: Model(name, entry["parameters"]) for name, entry in published.items()}
