"""What is published about the models, data/models."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit_plots.files import read_json


@dataclass(frozen=True)
class Model:
    name: str
    parameters: int  # published count
    hidden: int
    layers: int


def shape(config: Mapping[str, Any]) -> tuple[int, int]:
    """Hidden size and layers of a Hugging Face config, whichever way its family spells them."""
    return (
        config.get("hidden_size") or config["n_embd"],
        config.get("num_hidden_layers") or config["n_layer"],
    )


def load_models(folder: Path) -> dict[str, Model]:
    models = {}
    for name, entry in read_json(folder / "parameters.json").items():
        hidden, layers = shape(read_json(folder / name / "config.json"))
        models[name] = Model(name, entry["parameters"], hidden, layers)
    return models
