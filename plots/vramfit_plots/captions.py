"""Where figures come from: the line under every table and picture."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from vramfit_plots.cells import Cell, has_figures
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import COUNTED, MEASURED, PREDICTED, TORCH, TORCH_MEASURED

_VERSIONS = {
    "gpu": "GPU",
    "driver": "driver",
    "cuda": "CUDA",
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "nccl": "NCCL",
    "cuda_module_loading": "CUDA_MODULE_LOADING",
}
_VIRTUAL = "virtual:"


def virtual_cards(inputs: Inputs) -> str:
    """The run's virtual GPUs, in words."""
    names = inputs.run.device.removeprefix(_VIRTUAL).split(",")
    return ", ".join(inputs.cards[n].title if n in inputs.cards else n for n in names)


def _predicted_on(inputs: Inputs, each_on_its_card: bool) -> str:
    if each_on_its_card:
        return "predicted by dry runs on virtual GPUs, OomCliff rows each on its own card"
    if inputs.run.device.startswith(_VIRTUAL):
        return f"predicted by dry runs on a virtual {virtual_cards(inputs)}, no GPU involved"
    return "predicted by dry runs"


def _short(inputs: Inputs, each_on_its_card: bool) -> str:
    if inputs.run.measured:
        return f"measured on {inputs.run.device}"
    if each_on_its_card:
        return "predicted on virtual GPUs"
    return f"predicted on a virtual {virtual_cards(inputs)}"


def versions(inputs: Inputs) -> str:
    """GPU, driver and libraries of a run on one, "" for a run without."""
    found = [
        f"{word} {inputs.run.context[key]}"
        for key, word in _VERSIONS.items()
        if inputs.run.context.get(key, "none") not in {"none", ""}
    ]
    return ", ".join(found)


def commit(inputs: Inputs) -> str:
    """The program's commit; both, where another one measured than predicts now."""
    own = inputs.run.context.get("commit", "unknown")
    predicted_by = inputs.run.context.get("predicted_by", own)
    return own if predicted_by == own else f"{own} (predictions: {predicted_by})"


def device_flag(inputs: Inputs) -> str:
    """`--device=` as typed: "cuda:0 NVIDIA H200" is what bench calls cuda."""
    return re.split(r"[:\s]", inputs.run.device)[0] if inputs.run.measured else inputs.run.device


def command(inputs: Inputs, rows: str) -> str:
    """The command that makes the rows whose names match `rows` again."""
    return f"build/bench --device={device_flag(inputs)} --benchmark_filter='{rows}'"


@dataclass(frozen=True)
class Caption:
    """What stands under a table or picture."""

    note: str  # how to read it
    evidence: str  # predicted on what, measured on what, by which commit and versions
    command: str  # makes its rows again; "" where it has none of ours
    signature: str = ""  # for a picture that is copied without its caption

    @property
    def text(self) -> str:
        return " ".join(part for part in (self.note, self.evidence) if part)


def caption(
    inputs: Inputs,
    cells: Collection[Cell],
    rows: str,
    note: str = "",
    each_on_its_card: bool = False,
) -> Caption:
    """Speaks of those sources only that have a figure in `cells`. `rows` is a pattern of their
    rows' names."""
    said = {
        PREDICTED.key: _predicted_on(inputs, each_on_its_card),
        MEASURED.key: f"measured on {inputs.run.device}",
        TORCH.key: "PyTorch predicted as `fit --runtime pytorch` does, its AdamW's m and v in the "
        "weights' dtype",
        TORCH_MEASURED.key: f"PyTorch measured with {inputs.reference.environment}",
    }
    answering = [source for source in COUNTED if has_figures(cells, source)]
    if not answering:
        signature = f"figures of the article; vramfit {commit(inputs)}"
        return Caption(note, "The article's figures; nothing of ours answers them.", "", signature)
    parts = [said[source.key] for source in answering]
    if versions(inputs):
        parts.append(versions(inputs))
    text = "; ".join([*parts, f"commit {commit(inputs)}"]) + "."
    where = _short(inputs, each_on_its_card)
    return Caption(
        note,
        text[0].upper() + text[1:],
        command(inputs, rows),
        signature=f"vramfit {commit(inputs)}, {where}",
    )


def summary(inputs: Inputs) -> str:
    """What the whole report rests on."""
    if inputs.run.measured:
        what = f"Figures were measured on {inputs.run.device} and predicted by dry runs."
    else:
        what = (
            "Nothing here was measured by this run: figures are predicted by dry runs of the step "
            f"program on a virtual {virtual_cards(inputs)}."
        )
    return f"{what} PyTorch's were measured earlier, with {inputs.reference.environment}."


def commands(inputs: Inputs, out: Path) -> list[str]:
    """The command that makes this report again."""
    run = inputs.run.path
    fit = f" --fit {inputs.accuracy.program}" if inputs.accuracy else ""
    return [
        f"build/bench --device={device_flag(inputs)} --benchmark_out={run} "
        "--benchmark_out_format=json",
        f"build/venv/bin/python -m vramfit_plots --run {run}{fit} --out {out}",
    ]


def context(inputs: Inputs) -> dict[str, str]:
    """The lines of the run's context that its figures depend on."""
    keys = ["schema_version", "commit", "evidence", "device", "overhead", *_VERSIONS]
    given = {key: inputs.run.context.get(key, "none") for key in keys}
    return {key: value for key, value in given.items() if value not in {"none", ""}}
