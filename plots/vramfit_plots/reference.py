"""What other programs needed for the same work, measured: data/reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from vramfit_plots.errors import AbsentError, BadInputError
from vramfit_plots.models import Model
from vramfit_plots.schemas import read_jsonl
from vramfit_plots.sources import TORCH_MEASURED

# The optimizers of measure_pytorch.py as `fit --runtime pytorch` and bench spell them.
FIT_OPTIMIZERS = {
    "adamw": "adamw",
    "adamw_fused": "adamw-fused",
    "adamw_loop": "adamw-loop",
    "sgd": "sgd",
    "sgdm": "sgd-momentum",
}
# Keys of cases in which PyTorch does other work than any row of ours.
_OTHER_WORK = {"ckpt", "lora", "cap_mib"}
_MEASURED = TORCH_MEASURED.prefix


@dataclass(frozen=True)
class Sharded:
    """A model that several GPUs train; each GPU's readings by stage, in bytes."""

    model: str
    strategy: str
    gpus: int
    stages: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Reference:
    rows: pd.DataFrame  # pytorch_measured_* counters by row name, as `bench` names rows
    training: pd.DataFrame  # every full training case, whatever its form; one a line
    environment: str  # what was measured where, in words
    multi_gpu: list[Sharded]
    lora_max_batch: dict[int, int]  # MiB for the allocator -> largest batch
    llamacpp_bytes: dict[str, int]  # llama2-7b's file by the weights' format

    def sharded(self, strategy: str, gpus: int | None = None) -> Sharded:
        """On however many GPUs, if that is not said."""
        for run in self.multi_gpu:
            if run.strategy == strategy and gpus in {None, run.gpus}:
                return run
        raise AbsentError(f"PyTorch's {strategy} on {gpus or 'several'} GPUs")

    def file_bytes(self, weights: str) -> int:
        if weights not in self.llamacpp_bytes:
            raise AbsentError(f"llama.cpp's file of {weights}")
        return self.llamacpp_bytes[weights]


def _levels(reading: Mapping[str, int]) -> dict[str, float]:
    return {
        f"{_MEASURED}allocated": reading["peak"],
        f"{_MEASURED}reserved": reading["peak_reserved"],
        f"{_MEASURED}device_used": reading["device_used"],
    }


def _inference_rows(case: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    loaded = {f"{_MEASURED}parameters": result["load"]["alloc"]}
    start = f"Inference/{case['model']}/{case['dtype']}"
    return {
        f"{start}/batch:{point['b']}/seq:{point['s']}": {**_levels(point), **loaded}
        for point in result["points"]
    }


def _stage_counters(result: Mapping[str, Any]) -> dict[str, float]:
    counters: dict[str, float] = {f"{_MEASURED}step1_loaded_after": result["load"]["alloc"]}
    for stage, reading in result["stages"].items():
        name = stage.replace(".", "_")
        counters[f"{_MEASURED}{name}_after"] = reading["alloc"]
        counters[f"{_MEASURED}{name}_peak"] = reading["peak"]
    readings = result["stages"].values()
    for level in _levels(next(iter(readings))):
        counters[level] = max(_levels(reading)[level] for reading in readings)
    return counters


def _ours_by_theirs(pytorch_optimizers: str) -> dict[str, str]:
    """Our optimizers by PyTorch's, of "adamw-same: adamw-fused, …": bench's list of the optimizer
    that each row's PyTorch columns are predicted for."""
    pairs = (pair.partition(": ") for pair in pytorch_optimizers.split(", "))
    return {theirs: ours for ours, _, theirs in pairs}


def _training_row(
    case: Mapping[str, Any], counters: Mapping[str, float], ours: Mapping[str, str]
) -> dict[str, Any]:
    precision = case.get("amp", case["dtype"])
    theirs = FIT_OPTIMIZERS.get(case["opt"], "") + (" under autocast" if "amp" in case else "")
    optimizer = ours.get(theirs)
    if optimizer is None:
        return {}
    start = f"Training/{case['model']}/{precision}/{optimizer}"
    end = "/attn:cublas" if case.get("attn") == "eager" else ""
    return {f"{start}/batch:{case['b']}/seq:{case['s']}{end}": counters}


def completed(line: Mapping[str, Any]) -> bool:
    """Whether the line is of a case, and one that ran to its end."""
    return isinstance(line.get("case"), dict) and "params" in line["result"]


def environment_words(env: Mapping[str, str]) -> str:
    """What was measured with, from a file's first line."""
    card, driver, memory = env["smi"].split(", ")
    return (
        f"PyTorch {env['torch']} and transformers {env['transformers']} on an {card} ({memory}, "
        f"driver {driver})"
    )


def load_reference(folder: Path, models: Mapping[str, Model], pytorch_optimizers: str) -> Reference:
    """`pytorch_optimizers` as in bench's context. A case whose parameter count is not the published
    one is another model than ours."""
    optimizers = _ours_by_theirs(pytorch_optimizers)
    environment = ""
    rows: dict[str, Any] = {}
    training = []
    path = folder / "pytorch_single_gpu.jsonl"
    for line in read_jsonl(path, "reference"):
        if env := line.get("env"):
            environment = environment_words(env)
        if not completed(line):
            continue
        case, result = line["case"], line["result"]
        if case["mode"] == "infer":
            new = _inference_rows(case, result)
        elif case["mode"] == "train":
            counters = _stage_counters(result)
            if "lora" not in case:
                training.append({**case, **counters})
            new = {} if _OTHER_WORK & case.keys() else _training_row(case, counters, optimizers)
        else:
            continue
        published = models.get(case["model"])
        if published and result["params"] == published.parameters:
            rows = {**new, **rows}

    if not rows or not environment:
        raise BadInputError(f"{path}: holds no {'case of ours' if environment else 'environment'}")

    return Reference(
        rows=pd.DataFrame.from_dict(rows, orient="index"),
        training=pd.DataFrame(training),
        environment=environment,
        multi_gpu=[
            Sharded(*line["case"][:3], line["result"]["stages"])
            for line in read_jsonl(folder / "pytorch_multi_gpu.jsonl", "reference/sharded")
        ],
        lora_max_batch={
            line["case"]["cap_mib"]: line["result"]["max_batch"]
            for line in read_jsonl(folder / "pytorch_max_batch.jsonl", "reference")
            if completed(line) and line["case"]["mode"] == "maxbatch"
        },
        llamacpp_bytes={
            line["weights"]: line["file_bytes"]
            for line in read_jsonl(folder / "llamacpp_speed.jsonl", "reference/llamacpp")
            if "file_bytes" in line and "llama2-7b" in line["what"]
        },
    )
