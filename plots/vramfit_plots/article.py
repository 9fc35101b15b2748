"""The article's own figures, from data/article."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit_plots.files import BadInputError
from vramfit_plots.schemas import read_json
from vramfit_plots.units import GB

BYTES_PER_WEIGHT = {"FP32": 4.0, "FP16": 2.0, "BF16": 2.0, "INT8": 1.0, "INT4": 0.5}

_FILES = {
    "inference": "table1_inference.json",
    "waterfall": "table2_training_waterfall.json",
    "oom_cliff": "table3_oom_cliff.json",
    "multi_gpu": "table4_multi_gpu.json",
    "claims": "claims.json",
}


@dataclass(frozen=True)
class Article:
    """Its tables as data/README.md describes them. GB, not bytes, as printed."""

    inference: Mapping[str, Any]
    waterfall: Mapping[str, Any]
    oom_cliff: Mapping[str, Any]
    multi_gpu: Mapping[str, Any]
    claims: list[Mapping[str, Any]]

    def assumed_parameters(self) -> dict[str, float]:
        """How many parameters the article's sizes of its two models come to."""
        fp16 = next(row for row in self.inference["rows"] if row["precision"] == "FP16")
        per_weight = BYTES_PER_WEIGHT["FP16"]
        return {
            self.inference["model"]: fp16["model"] * GB / per_weight,
            self.multi_gpu["model"]: self.multi_gpu["model_gb"] * GB / per_weight,
        }

    @property
    def seven_b(self) -> float:
        """How many parameters its 7B has."""
        return self.assumed_parameters()[self.inference["model"]]

    def claim(self, claim_id: str) -> Mapping[str, Any]:
        for claim in self.claims:
            if claim["id"] == claim_id:
                return claim
        raise BadInputError(f"data/article/claims.json: no claim '{claim_id}'")

    def shared_by(self, *, whole: bool) -> Mapping[str, Any]:
        """Table 4's first strategy that leaves every GPU the whole model, or that does not: its
        figures shrink with the GPUs."""
        for row in self.multi_gpu["rows"]:
            if whole != shrinks(row):
                return row
        kind = "leaves each GPU the whole model" if whole else "divides the model"
        raise BadInputError(f"data/article/{_FILES['multi_gpu']}: no strategy that {kind}")

    @property
    def table_2_row(self) -> str:
        """The row that all of table 2 is of."""
        return self.waterfall["rows"][0]["row"]

    def stage_memory(self, stage: str) -> float:
        """Table 2, in bytes."""
        for row in self.waterfall["rows"]:
            if row["stage"] == stage:
                return row["memory"] * GB
        raise BadInputError(f"data/article/{_FILES['waterfall']}: no stage '{stage}'")


def shrinks(row: Mapping[str, Any]) -> bool:
    """Whether a row of table 4 takes less of each GPU the more there are."""
    return row["cells"][0]["memory"] > row["cells"][-1]["memory"]


def load_article(folder: Path) -> Article:
    documents = {name: read_json(folder / file, f"article/{name}") for name, file in _FILES.items()}
    documents["claims"] = documents["claims"]["claims"]
    article = Article(**documents)
    if article.waterfall["model"] != article.inference["model"]:
        raise BadInputError(
            f"{folder / _FILES['waterfall']}: model: is not that of {_FILES['inference']}"
        )
    return article
