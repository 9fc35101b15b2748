"""A small reference of PyTorch, and a stand-in for `fit` that is off by a given factor."""

import json
import stat
import sys
from pathlib import Path
from typing import Any

ARCH = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
ENV = {"torch": "2.11", "transformers": "5.17", "cuda": "13.0", "smi": "NVIDIA H200, 580, 9 MiB"}
PARAMETERS = 1_000_000_000
LOADED = 2_000_000_000
OVERHEAD = 1_000_000_000
ARTICLE = 10_500_000_000  # what the article's calculator says, whatever it is asked
DEVICE_ONLY = 600_000_000  # of it, what a reading of the device holds


def reading(allocated: int) -> dict[str, int]:
    return {
        "alloc": allocated,
        "peak": allocated + 1_000_000_000,
        "reserved": allocated + 2_000_000_000,
        "peak_reserved": allocated + 2_000_000_000,
        "device_used": allocated + 2_000_000_000 + DEVICE_ONLY,
    }


def training(**more: Any) -> dict[str, Any]:
    setting = {"model": "tiny", "arch": ARCH, "mode": "train", "dtype": "bf16", "opt": "adamw"}
    stages = {"step1.forward": reading(6_000_000_000), "step2.backward": reading(9_000_000_000)}
    result = {"params": PARAMETERS, "trainable": 0, "load": reading(LOADED), "stages": stages}
    return {"case": {**setting, "b": 2, "s": 128, **more}, "result": result}


def inference(**more: Any) -> dict[str, Any]:
    setting = {"model": "tiny", "arch": ARCH, "mode": "infer", "dtype": "fp16"}
    points = [{"b": b, "s": 64, **reading(LOADED + b * 1_000_000_000)} for b in (1, 8)]
    result = {"params": PARAMETERS, "load": reading(LOADED), "points": points}
    return {"case": {**setting, "points": [[1, 64], [8, 64]], **more}, "result": result}


def largest(batch: int, **more: Any) -> dict[str, Any]:
    setting = {"model": "tiny", "arch": ARCH, "mode": "maxbatch", "dtype": "bf16", "opt": "sgd"}
    result = {"params": PARAMETERS, "load": reading(LOADED), "max_batch": batch}
    return {"case": {**setting, "s": 128, "cap_mib": 24564, **more}, "result": result}


def write(folder: Path, name: str, lines: list[dict[str, Any]]) -> None:
    """A file of data/reference, beside the project's own catalogue of cards."""
    (folder / "reference").mkdir(parents=True, exist_ok=True)
    text = "\n".join(json.dumps(line) for line in [{"env": ENV}, *lines])
    (folder / "reference" / f"{name}.jsonl").write_text(text)


def answer(runtime: str, stages: list[dict[str, Any]], total: int) -> dict[str, Any]:
    """As `vramfit --json` answers; what nobody reads is 0."""
    parts = ("parameters", "gradients", "optimizer_state", "activations", "kv_cache", "workspace")
    asked = {"model": "tiny", "mode": "inference", "precision": "bf16", "batch": 1, "seq": 64}
    return {
        "schema": 1,
        "runtime": runtime,
        "release": None,
        "fits": False,
        "verdict": "OOM",
        "uncertainty": None,
        "asked": {**asked, "attention": "sdpa", "generate": 1},
        "model": {
            "name": "tiny",
            "family": "llama",
            "parameters": PARAMETERS,
            "parameters_stored": PARAMETERS,
            "layers": 2,
            "hidden": 64,
        },
        "gpu": {"name": "h200", "title": "NVIDIA H200", "arch": "sm_90"},
        "vram": total,
        "headroom": 0,
        "held_by_others": 0,
        "capacity": total,
        "overhead": OVERHEAD,
        "overhead_source": "invented",
        "overhead_parts": {"driver_reserved": 0, "context": OVERHEAD, "libraries": 0},
        "total": total,
        "margin": 0,
        "levels": {"allocated": 0, "reserved": 0, "device_used": 0},
        "components": {**dict.fromkeys(parts, 0), "inputs": 0},
        "peak": {"stage": "prefill", "step": 1},
        "stages": stages,
        "notes": [],
    }


# It answers with what the cases above were measured to take, times a factor.
_PROGRAM = """#!{python}
import json, sys
sys.path.insert(0, {folder!r})
import pytorch_cases as known
arguments = sys.argv[1:]
def given(flag):
    return arguments[arguments.index(flag) + 1] if flag in arguments else None
if given("--precision") == "fp32":
    sys.exit(print("vramfit: error: precision: no such thing", file=sys.stderr) or 2)
assert given("--gpu") == "h200"
assert json.load(open(given("--config"))) == known.ARCH
if given("--runtime") == "article":
    sys.exit(print(json.dumps(known.answer("article", [], total=known.ARTICLE))))
assert given("--runtime") == "pytorch"
def stage(name, step, allocated):
    one = known.reading(allocated)
    levels = ("peak", "reserved", "peak_reserved", "device_used")
    return {{"name": name, "step": step, "before": 0, "after": int({off} * one["alloc"]),
            **{{level: int({off} * one[level]) for level in levels}}}}
stages = [stage("loaded", 0, known.LOADED)]
if "--train" in arguments:
    stages += [stage("forward", 1, 6_000_000_000), stage("backward", 2, 9_000_000_000)]
else:
    stages.append(stage("prefill", 1, known.LOADED + int(given("--batch")) * 1_000_000_000))
total = max(stage["device_used"] for stage in stages) + known.OVERHEAD - known.DEVICE_ONLY
answer = known.answer("pytorch", stages, total=total)
if "--max-batch" in arguments:
    answer["max_batch"] = 3 if given("--vram") == str(24564 * 2**20 + known.OVERHEAD) else 99
print(json.dumps(answer))
sys.exit(1)
"""


def program(folder: Path, off: float = 1.0) -> Path:
    path = folder / "fit"
    here = str(Path(__file__).resolve().parent)
    path.write_text(_PROGRAM.format(python=sys.executable, folder=here, off=off))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
