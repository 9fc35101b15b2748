"""What other programs needed for the same work, measured, data/reference; PyTorch's figures by row
name, as `bench` names rows, so that they join its own.

Of what bench has no row for, the axes `lora:` and `checkpoint:` are appended."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from vramfit_plots.accuracy.cases import FIT_OPTIMIZERS, LOADED, Case, counters, recorded
from vramfit_plots.accuracy.comparison import Accuracy
from vramfit_plots.catalogues import Model
from vramfit_plots.files import AbsentError, BadInputError
from vramfit_plots.rows import STRATEGIES, Spread
from vramfit_plots.schemas import read_jsonl
from vramfit_plots.sources import TORCH, TORCH_MEASURED

# The only ones that rows of `lora:` are of: PEFT's default for a llama.
LORA_TARGETS = ["q_proj", "v_proj"]
# Keys of cases in which PyTorch does other work than any row.
_OTHER_WORK = {"cap_mib", "pretrained", "compile", "gen", "time_tokens"}

Rows = dict[str, dict[str, float]]


def theirs_by_ours(pytorch_optimizers: str) -> dict[str, str]:
    """PyTorch's optimizers by ours, of "adamw-same: adamw-fused, …": bench's list of the optimizer
    that each row's PyTorch columns are predicted for."""
    pairs = (pair.partition(": ") for pair in pytorch_optimizers.split(", "))
    return {ours: theirs for ours, _, theirs in pairs}


def ours_by_theirs(pytorch_optimizers: str) -> dict[str, str]:
    return {theirs: ours for ours, theirs in theirs_by_ours(pytorch_optimizers).items()}


def _appended(case: Case) -> str:
    setting = case.setting
    parts = ["attn:cublas"] if setting.get("attn") == "eager" else []
    parts += [f"accumulate:{case.micro_batches}"] if case.micro_batches > 1 else []
    parts += [f"lora:{setting['lora']['r']}"] if "lora" in setting else []
    parts += [f"generate:{case.new_tokens}"] if case.new_tokens > 1 else []
    parts += ["checkpoint:full"] if setting.get("ckpt") else []
    return "".join(f"/{part}" for part in parts)


def _sharded_row(case: Case, ours: Mapping[str, str]) -> str | None:
    """Each GPU's. Parameters in fp32 that are computed with in 16 bits are what autocast's are."""
    setting, mixed = case.setting, case.setting.get("mixed")
    theirs = FIT_OPTIMIZERS.get(setting["opt"], "")
    optimizer = ours.get(theirs + (" under autocast" if mixed else ""))
    if optimizer is None or setting["strategy"] not in STRATEGIES or case.batch is None:
        return None
    more = tuple(_appended(case).split("/")[1:])
    precision, strategy = mixed or setting["dtype"], setting["strategy"]
    sizes = (case.batch, case.seq, case.gpus)
    return Spread(case.model, precision, optimizer, strategy, *sizes, more).row


def row_name(case: Case, ours: Mapping[str, str]) -> str | None:
    """None where no row is of the same work."""
    setting = case.setting
    lora = setting.get("lora")
    if _OTHER_WORK & setting.keys() or (lora and lora["targets"] != LORA_TARGETS):
        return None
    precision = setting.get("quant") or setting.get("amp") or setting["dtype"]
    if case.gpus > 1:
        return _sharded_row(case, ours)
    start = f"Inference/{case.model}/{precision}"
    if case.training:
        theirs = FIT_OPTIMIZERS.get(setting["opt"], "")
        optimizer = ours.get(theirs + (" under autocast" if "amp" in setting else ""))
        if optimizer is None:
            return None
        if lora and optimizer == "adamw-same":
            optimizer = "adamw"  # the states of adapters, which are in FP32, are as wide as they
        start = f"Training/{case.model}/{precision}/{optimizer}"
    return f"{start}/batch:{case.batch}/seq:{case.seq}{_appended(case)}"


def _counters(
    stages: Mapping[str, Mapping[str, int]], peak: Mapping[str, int]
) -> Iterator[tuple[str, float]]:
    """Without prefix."""
    yield "parameters", stages[LOADED]["after"]
    yield from counters(stages, peak)


def _prefixed(prefix: str, counters: Iterable[tuple[str, float]]) -> dict[str, float]:
    return {f"{prefix}{name}": value for name, value in counters}


def _same_model(case: Case, models: Mapping[str, Model]) -> bool:
    """A case whose parameter count is not the published one is another model than ours. Weights of
    4 bits are packed, and not counted one by one; on several GPUs nobody counted at first."""
    published = models.get(case.model)
    counted = not case.packed and case.parameters is not None
    return published is not None and (not counted or case.parameters == published.parameters)


def measured_rows(
    cases: Iterable[Case], models: Mapping[str, Model], ours: Mapping[str, str]
) -> pd.DataFrame:
    """Of cases of the same name the first counts, and what later ones know besides."""
    rows: Rows = {}
    for case in cases:
        name = row_name(case, ours) if case.peak else None
        if name is None or not _same_model(case, models):
            continue
        more = {"trainable": case.trainable, "tokens_per_second": case.tokens_per_second}
        found = _prefixed(TORCH_MEASURED.prefix, _counters(case.stages, case.peak))
        found |= {f"{TORCH_MEASURED.prefix}{k}": float(v) for k, v in more.items() if v}
        rows[name] = {**found, **rows.get(name, {})}
    return pd.DataFrame.from_dict(rows, orient="index")


def _of_one_rank(
    folder: Path, models: Mapping[str, Model], ours: Mapping[str, str]
) -> pd.DataFrame:
    """What tensors and allocator took. The card lost no memory to NCCL, which is not there."""
    cases = recorded(folder, several_gpus=True, of_one_rank=True).cases
    rows = measured_rows(cases, models, ours)
    return rows.drop(columns=[name for name in rows if name.endswith("device_used")])


def predicted_rows(accuracy: Accuracy, ours: Mapping[str, str]) -> pd.DataFrame:
    """What `fit` said of the same cases."""
    rows: Rows = {}
    for case, prediction in zip(accuracy.cases, accuracy.predictions, strict=True):
        name = row_name(case, ours) if case.peak else None
        if name is not None:
            counters = _counters(prediction.stages, prediction.peak)
            rows.setdefault(name, _prefixed(TORCH.prefix, counters))
    return pd.DataFrame.from_dict(rows, orient="index")


_FIRST = "pytorch_single_gpu"  # of the files: of cases of the same name its counts


@dataclass(frozen=True)
class Reference:
    rows: pd.DataFrame  # pytorch_measured_* counters by row name
    of_one_rank: frozenset[str]  # the rows of several GPUs that one was measured for
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
    ours = ours_by_theirs(pytorch_optimizers)
    rows = measured_rows([*cases, *several], models, ours)
    alone = _of_one_rank(folder, models, ours).drop(index=rows.index, errors="ignore")
    path = folder / f"{_FIRST}.jsonl"
    if _FIRST not in environments:
        raise BadInputError(f"{path}: holds no environment")
    if rows.empty or cases[0].source != _FIRST:
        raise BadInputError(f"{path}: holds no case of ours")
    return Reference(
        rows=pd.concat([rows, alone]),
        of_one_rank=frozenset(alone.index),
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
