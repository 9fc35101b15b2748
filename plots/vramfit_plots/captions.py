"""What stands under a table or picture, and where the report's figures come from."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from vramfit_plots.inputs import Inputs
from vramfit_plots.rows import spread
from vramfit_plots.sources import COUNTED, MEASURED, PREDICTED, TORCH, TORCH_MEASURED, Source
from vramfit_plots.units import in_words

_VERSIONS = {
    "gpu": "GPU",
    "driver": "driver",
    "cuda": "CUDA",
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "nccl": "NCCL",
    "cuda_module_loading": "CUDA_MODULE_LOADING",
}
_COMPARED_VERSIONS = {
    "driver": "driver",
    "cuda": "CUDA",
    "torch": "PyTorch",
    "transformers": "transformers",
    "commit": "commit",
}
_VIRTUAL = "virtual:"


def virtual_cards(inputs: Inputs) -> str:
    """The run's virtual GPUs, in words."""
    names = inputs.run.device.removeprefix(_VIRTUAL).split(",")
    return ", ".join(inputs.cards[n].title if n in inputs.cards else n for n in names)


def _known(inputs: Inputs, key: str) -> str:
    """A line of the run's context, "" where it says nothing."""
    value = inputs.run.context.get(key, "none")
    return "" if value == "none" else value


_COUNTS = {2: "two", 4: "four", 8: "eight"}


def _device(inputs: Inputs) -> str:
    """What the run ran on: "one NVIDIA H200", "one and two NVIDIA H200s"."""
    gpu = _known(inputs, "gpu")
    if not gpu:
        return inputs.run.device
    several = sorted(_together(inputs.run.rows))
    counts = ["one", *(_COUNTS.get(count, str(count)) for count in several)]
    return f"{in_words(counts)} {gpu}{'s' if several else ''}"


def _together(rows: pd.DataFrame) -> set[int]:
    """How many GPUs measured a row together."""
    names = rows["mem_nccl"].dropna().index if "mem_nccl" in rows else []
    found = (spread(name) for name in names)
    return {one.gpus for one in found if one is not None and one.gpus > 1}


def versions(inputs: Inputs) -> str:
    """GPU, driver and libraries of a run on one, "" for a run without."""
    found = {word: _known(inputs, key) for key, word in _VERSIONS.items()}
    return ", ".join(f"{word} {value}" for word, value in found.items() if value)


def said(inputs: Inputs, source: Source) -> str:
    """Of a table whose figures are the source's."""
    return {
        PREDICTED: "predicted by vramfit, without a GPU",
        MEASURED: f"measured by vramfit on {_device(inputs)}",
        TORCH: "PyTorch's, predicted by vramfit",
        TORCH_MEASURED: "measured in PyTorch",
    }[source]


def signature(inputs: Inputs) -> str:
    """For a picture that is copied without its caption."""
    commit = inputs.run.context.get("commit", "unknown")
    if inputs.run.measured:
        return f"vramfit {commit}, measured on {_device(inputs)}"
    return f"vramfit {commit}, predicted for a virtual {virtual_cards(inputs)}"


def device_flag(inputs: Inputs) -> str:
    """`--device=` as typed: "cuda:0 NVIDIA H200" is what bench calls cuda."""
    return re.sub(r"^(cpu|cuda:\d+)\b.*", r"\1", inputs.run.device).replace("cuda:0", "cuda")


def command(inputs: Inputs, rows: str) -> str:
    """The command that makes the rows whose names match `rows` again."""
    return f"build/bench --device={device_flag(inputs)} --benchmark_filter='{rows}'"


def summary(inputs: Inputs) -> str:
    """What the whole report rests on; its last page has more of it."""
    own = (
        f"vramfit's figures were measured on {_device(inputs)}"
        if inputs.run.measured
        else "This run measured nothing: vramfit's figures are predicted, without a GPU, for a "
        f"virtual {virtual_cards(inputs)}"
    )
    return f"{own}. PyTorch's measured figures are those kept in data/reference."


def _environments(by_file: Mapping[str, str]) -> str:
    """Each with the files that were measured in it."""
    files: dict[str, list[str]] = {}
    for file, environment in by_file.items():
        files.setdefault(environment or "no environment is named", []).append(file)
    return "; ".join(f"{where} in {in_words(names)}" for where, names in files.items())


def provenance(inputs: Inputs) -> dict[str, str]:
    """By source: how its figures came about, once for all tables and pictures."""
    commit = inputs.run.context.get("commit", "unknown")
    predicted_by = inputs.run.context.get("predicted_by", commit)
    said = {
        PREDICTED: "dry runs of its own step program on virtual GPUs, OomCliff rows each on its "
        f"own card; commit {predicted_by}",
        MEASURED: f"on {_device(inputs)}: {versions(inputs)}; commit {commit}",
        TORCH: "as vramfit --runtime pytorch does, without PyTorch; its AdamW keeps m and v in the "
        f"weights' dtype; commit {predicted_by}",
        TORCH_MEASURED: f"data/reference: {_environments(inputs.reference.environments)}",
    }
    columns = inputs.rows.columns
    found = {
        source.heading: said[source]
        for source in COUNTED
        if any(column.startswith(source.prefix) for column in columns)
    }
    if inputs.comparison:
        ran = inputs.comparison["context"]
        words = [f"{word} {ran[key]}" for key, word in _COMPARED_VERSIONS.items() if key in ran]
        found["vramfit against PyTorch"] = f"in turn on one {ran['gpu']}: {', '.join(words)}"
    return found


def _from_here(path: Path) -> Path:
    """As one types it in the folder that the report was made in."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def commands(inputs: Inputs, out: Path) -> list[str]:
    """The commands that make this report again."""
    run = _from_here(inputs.run.path)
    if inputs.run.measured:
        return [f"make tables RUN={run} SOURCE={inputs.source.key}"]
    fit = f" --fit {inputs.accuracy.program}" if inputs.accuracy else ""
    return [
        f"build/bench --device={device_flag(inputs)} --benchmark_out={run} "
        "--benchmark_out_format=json",
        f"build/venv/bin/python -m vramfit_plots --run {run}{fit} --source {inputs.source.key} "
        f"--out {out}",
    ]


def context(inputs: Inputs) -> dict[str, str]:
    """The lines of the run's context that its figures depend on."""
    keys = ["schema_version", "commit", "evidence", "device", "overhead", *_VERSIONS]
    return {key: value for key in keys if (value := _known(inputs, key))}
