"""What other programs needed for the same work, measured: data/reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from vramfit_plots.accuracy.cases import Case, recorded
from vramfit_plots.errors import AbsentError, BadInputError
from vramfit_plots.models import Model
from vramfit_plots.pytorch_rows import measured_rows, ours_by_theirs
from vramfit_plots.schemas import read_jsonl

_FIRST = "pytorch_single_gpu"  # of the files: of cases of the same name its counts


@dataclass(frozen=True)
class Reference:
    rows: pd.DataFrame  # pytorch_measured_* counters by row name
    cases: list[Case]  # every one that ran on one GPU, whatever its form
    environments: Mapping[str, str]  # by file: with what it was measured
    lora_max_batch: dict[int, int]  # MiB for the allocator -> largest batch
    llamacpp_bytes: dict[str, int]  # llama2-7b's file by the weights' format

    def file_bytes(self, weights: str) -> int:
        if weights not in self.llamacpp_bytes:
            raise AbsentError(f"llama.cpp's file of {weights}")
        return self.llamacpp_bytes[weights]


def load_reference(folder: Path, models: Mapping[str, Model], pytorch_optimizers: str) -> Reference:
    """`pytorch_optimizers` as in bench's context."""
    found = recorded(folder)
    environments = {file: env.words for file, env in found.environments.items()}
    cases = sorted(found.cases, key=lambda case: case.source != _FIRST)
    several = recorded(folder, several_gpus=True).cases
    rows = measured_rows([*cases, *several], models, ours_by_theirs(pytorch_optimizers))
    path = folder / f"{_FIRST}.jsonl"
    if _FIRST not in environments:
        raise BadInputError(f"{path}: holds no environment")
    if rows.empty or cases[0].source != _FIRST:
        raise BadInputError(f"{path}: holds no case of ours")
    return Reference(
        rows=rows,
        cases=[case for case in cases if case.peak],
        environments={_FIRST: environments[_FIRST], **environments},
        lora_max_batch={
            case.setting["cap_mib"]: case.max_batch
            for case in cases
            if case.max_batch is not None and "lora" in case.setting
        },
        llamacpp_bytes={
            line["weights"]: line["file_bytes"]
            for line in read_jsonl(folder / "llamacpp_speed.jsonl", "reference/llamacpp")
            if "file_bytes" in line and "llama2-7b" in line["what"]
        },
    )
