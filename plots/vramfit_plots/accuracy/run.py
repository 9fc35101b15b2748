"""The measured cases as a run, in the form of bench's reports: what build/compare sets beside
another, so that a release of PyTorch is compared with the one before, case by case.

A case measured twice has one row: of its figures the first file's count."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vramfit_plots.accuracy.cases import Case, Failure, Recorded, counters
from vramfit_plots.accuracy.comparison import Accuracy
from vramfit_plots.accuracy.fit import Prediction
from vramfit_plots.files import BadInputError

_NONE = "none"
# What a context names, and what of it a run has one of.
_FACTS = ("gpu", "driver", "cuda", "cudnn", "torch", "transformers")
_ONE = ("gpu", "driver", "torch", "transformers")
_PACKAGES = ("peft", "bitsandbytes", "accelerate")
# The parts of a name after its family, in their order.
_AXES = (
    "mode model precision optimizer batch: seq: attn: autocast: quant: accumulate: generate: "
    "checkpoint: lora: targets: from: compile: strategy: gpus: mixed-precision: cap_mib: by:"
)


Row = dict[str, Any]


def _version(program: Path) -> str:
    """The commit that `fit` says it was built from."""
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    _, bracket, commit = run.stdout.strip().rstrip(")").partition("(")
    return commit if bracket and commit else "unknown"


def _fact(recorded: Recorded, key: str) -> str:
    """What all files name; of what is known of each card and release there is one."""
    every = [env.facts[key] for env in recorded.environments.values() if key in env.facts]
    different = list(dict.fromkeys(every))
    if len(different) > 1 and key in _ONE:
        raise BadInputError(
            f"{recorded.path}: {key}: its files were measured with {' and '.join(different)}; a "
            "run is of one: REFERENCE=FILE names it"
        )
    return ", ".join(different) or _NONE


def _context(comparison: Accuracy, command: str) -> dict[str, str]:
    recorded = comparison.recorded
    facts = {key: _fact(recorded, key) for key in _FACTS}
    packages = {key: _fact(recorded, key) for key in _PACKAGES}
    return {
        "date": _fact(recorded, "date"),
        "schema_version": "1",
        "commit": _version(comparison.program),
        "device": f"cuda:0 {facts['gpu']}",
        "evidence": "measured",
        "cublas": _NONE,
        "nccl": _NONE,
        "cuda_module_loading": _NONE,
        **facts,
        **{key: version for key, version in packages.items() if version != _NONE},
        "axes": _AXES,
        "command": command,
    }


def _measured(case: Case) -> Row:
    row = {f"mem_{name}": value for name, value in counters(case.stages, case.peak)}
    if case.max_batch is not None:
        row["mem_max_batch"] = case.max_batch
    if case.tokens_per_second is not None:
        row["tokens_per_second"] = case.tokens_per_second
    params = {} if case.parameters is None else {"params": case.parameters}
    return {"oom": 0, **params, **row}


def _predicted(case: Case, prediction: Prediction) -> Row:
    """What was measured too: `fit` walks further steps."""
    if case.max_batch is not None:
        return {"pred_max_batch": prediction.max_batch}
    stages = {
        name: {level: said for level, said in prediction.stages[name].items() if level in reading}
        for name, reading in case.stages.items()
    }
    return {f"pred_{name}": value for name, value in counters(stages, prediction.peak)}


def _failed(failure: Failure) -> Row:
    if failure.out_of_memory:
        return {"oom": 1}
    return {"error_occurred": True, "error_message": failure.why}


def _rows(comparison: Accuracy) -> dict[str, Row]:
    """By name."""
    predicted = {
        id(case): _predicted(case, prediction)
        for case, prediction in zip(comparison.cases, comparison.predictions, strict=True)
    }
    rows: dict[str, Row] = {}
    for case in comparison.recorded.cases:
        row = {"label": f"measured; {case.title}", **_measured(case), **predicted.get(id(case), {})}
        rows[case.name] = {**row, **rows.get(case.name, {})}
    for failure in comparison.recorded.failures:
        label = f"measured; {failure.why}"
        for name in failure.names:
            rows.setdefault(name, {"label": label, **_failed(failure)})
    return rows


def _benchmark(name: str, row: Row) -> Row:
    """As Google Benchmark writes one that it did not time."""
    once = {"repetitions": 1, "repetition_index": 0, "threads": 1, "iterations": 1}
    not_timed = {"real_time": 0.0, "cpu_time": 0.0, "time_unit": "ms"}
    return {"name": name, "run_name": name, "run_type": "iteration", **once, **not_timed, **row}


def document(comparison: Accuracy, command: str, several: Accuracy | None = None) -> dict[str, Any]:
    """`command` makes it again; `several` are cases on several GPUs."""
    rows = _rows(comparison) | (_rows(several) if several else {})
    return {
        "context": _context(comparison, command),
        "benchmarks": [_benchmark(name, row) for name, row in rows.items()],
    }


def write(kept: Mapping[str, Any], path: Path) -> None:
    """All or nothing."""
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    beside.replace(path)
