"""What `fit` answers to a question."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from programs import ROOT

Peaks = dict[str, list[int]]  # allocated and reserved at most, in bytes, by step and stage

FIT = ROOT / "build" / "fit"
_STAGES = {"zero_grad": "optimizer", "prefill": "forward", "decode": "forward"}  # as a run has them
_WITHOUT = {"padded": "--unpadded"}
_ANSWERED = (0, 1)  # exit statuses: it fits, it does not


def answer(question: Mapping[str, Any], card: str, release: str = "") -> Peaks | str:
    """Or why it refuses. `release`: PyTorch's; "": the one that was measured."""
    with tempfile.TemporaryDirectory(prefix="vramfit-question-") as folder:
        (Path(folder) / "config.json").write_text(json.dumps(question["config"]))
        asked = ["--model", folder, "--gpu", card, "--json", *_flags(question["asked"])]
        asked += ["--release", release] if release else []
        ran = subprocess.run([FIT, *asked], capture_output=True, text=True, check=False)
    if ran.returncode not in _ANSWERED:
        said = ran.stderr.strip().removeprefix("vramfit: ").replace(f"{folder}/", "")
        return said or f"ended with {ran.returncode}"
    return _peaks(json.loads(ran.stdout)["stages"])


def _flags(asked: Mapping[str, Any]) -> list[str]:
    flags = []
    for name, value in asked.items():
        if value is False:
            flags.append(_WITHOUT[name])
            continue
        flags.append("--" + name.replace("_", "-"))
        flags += [] if value is True else [str(value)]
    return flags


def _peaks(stages: list[dict[str, Any]]) -> Peaks:
    found: Peaks = {}
    for stage in stages:
        name = f"{stage['step']}.{_STAGES.get(stage['name'], stage['name'])}"
        before = found.get(name, [0, 0])
        read = (stage["peak"], stage["peak_reserved"])
        found[name] = [max(pair) for pair in zip(before, read, strict=True)]
    return found
