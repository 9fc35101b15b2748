"""Rivals that are run: accelerate's functions on the stand-in's PyTorch, hf-mem's in a Python of
its own, Unsloth's planner out of its wheel. What they said is kept in data/league/rivals.json."""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from programs import ROOT, BadInputError
from vramfit_plots.accuracy.cases import Case
from vramfit_plots.accuracy.comparison import Accuracy
from vramfit_plots.accuracy.rivals import FORMULAS, with_peak

from league.asking import PACKAGE

_HERE = Path(__file__).resolve().parent
_EXACT = ROOT / "build" / "exact" / "bin" / "python"
# Its PyTorch is built for CUDA, whose libraries it lacks.
_DRY = (sys.executable, "-m", "vramfit", "run", "--gpu", "h200", "--")
_HF_MEM = "hf-mem==0.5.6"
_UNSLOTH = "unsloth==2026.10.9"
_OF_UNSLOTH = {"adamw", "adamw_fused", "adamw8bit", "paged_adamw8bit", "sgd"}


def keyed(comparison: Accuracy) -> dict[str, int]:
    """Numbers of cases, by names that no two have."""
    names = [f"{case.source}/{case.name}" for case in comparison.cases]
    return {f"{name}#{names[:i].count(name)}": i for i, name in enumerate(names)}


def _cases(comparison: Accuracy, chosen: Sequence[int]) -> Iterator[dict[str, Any]]:
    for key, i in keyed(comparison).items():
        if i not in chosen:
            continue
        case = comparison.cases[i]
        yield {
            "key": key,
            "arch": case.setting["arch"],
            "dtype": case.setting["dtype"],
            "training": case.training,
            "parameters": comparison.predictions[i].parameters,
            "tokens": case.seq + case.new_tokens,
            "batch": case.batch,
        }


def _run(command: Sequence[object], cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`command` and the names of two files: of what is asked, of what it says."""
    with tempfile.TemporaryDirectory(prefix="vramfit-rivals-") as folder:
        asked, told = Path(folder) / "asked.json", Path(folder) / "told.json"
        asked.write_text(json.dumps(cases))
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(PACKAGE)}
        run = subprocess.run(
            [*map(str, command), str(asked), str(told)],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        if not told.exists():
            raise BadInputError(f"{command[-1]}: said nothing: {run.stderr.strip()[-200:]}")
        return json.loads(told.read_text())


def _wheel_of(package: str) -> Path:
    """Not installed: what it would bring along is more than its planner reads."""
    folder = ROOT / "build" / "league" / package.replace("==", "-")
    if not list(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", package]
        subprocess.run([*command, "--dest", str(folder)], check=True)
    return next(folder.glob("*.whl"))


def _python_with(package: str) -> Path:
    folder = ROOT / "build" / "league" / package.replace("==", "-")
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
    return python


def accelerate(comparison: Accuracy) -> dict[str, Any]:
    """Of what its documentation speaks of: Adam, and inference of unquantised weights."""
    if not _EXACT.exists():
        raise BadInputError(f"{_EXACT}: is not there; `make exact` makes it")
    formula = next(formula for formula in FORMULAS if formula.key == "accelerate")
    cases = comparison.cases
    chosen = [i for i in with_peak(comparison) if formula.speaks_of(cases[i])]
    script = _HERE / "run_accelerate.py"
    return _run([*_DRY, _EXACT, script], list(_cases(comparison, chosen)))


def hf_mem(comparison: Accuracy) -> dict[str, Any]:
    cases = comparison.cases
    chosen = [
        i
        for i in with_peak(comparison)
        if not cases[i].training and not cases[i].setting.get("quant")
    ]
    return _run([_python_with(_HF_MEM), _HERE / "run_hf_mem.py"], list(_cases(comparison, chosen)))


def _unsloth_speaks_of(case: Case) -> bool:
    """Of training in 16 bits, all of a model, LoRA or QLoRA in 4 bits, by optimizers it has."""
    setting = case.setting
    weights = setting["dtype"] in ("bf16", "fp16") and "amp" not in setting
    quant = setting.get("quant")
    adapters = "lora" in setting and quant in ("nf4", "nf4-dq") if quant else True
    known = setting.get("opt") in _OF_UNSLOTH
    return case.training and case.batch is not None and weights and adapters and known


def unsloth(comparison: Accuracy) -> dict[str, Any]:
    cases = comparison.cases
    chosen = [i for i in with_peak(comparison) if _unsloth_speaks_of(cases[i])]
    asked = [
        {
            "key": key,
            "setting": dict(cases[i].setting),
            "batch": cases[i].batch,
            "seq": cases[i].seq,
        }
        for key, i in keyed(comparison).items()
        if i in chosen
    ]
    return _run([*_DRY, _EXACT, _HERE / "run_unsloth.py", _wheel_of(_UNSLOTH)], asked)
