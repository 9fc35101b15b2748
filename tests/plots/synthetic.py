"""A run as `bench` writes it, with invented but consistent figures: 2 + 2 bytes a parameter, states
by optimizer, and a fixed number of bytes a token for activations and cache."""

import bisect
import functools
import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vramfit_plots.__main__ import main
from vramfit_plots.files import data_dir

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1, "int8-wo": 1}
BYTES |= {"nf4": 0.5625, "int4": 0.53125}
STATES = {
    "sgd": 0,
    "sgd-master": 4,
    "sgd-momentum": 4,
    "adamw": 8,
    "adamw-master": 12,
    "adamw-same": 4,
    "adamw-8bit": 2,
    "adamw-cpu": 0,
    "lion": 4,
    "adafactor": 0,
}
ON_HOST = {"adamw-cpu": 8}  # of the host's memory
# Axes that names leave out where they are usual, in their order.
LATER = {
    "accumulate": ("accumulate", "1"),
    "lora": ("lora", ""),
    "lora-targets": ("targets", ""),
    "generate": ("generate", "1"),
    "gpu": ("gpu", ""),
    "cache": ("cache", "unquantized"),
    "block": ("block", "none"),
    "lengths": ("lengths", "equal"),
    "checkpoint": ("checkpoint", "none"),
    "checkpoint-every": ("every", "1"),
}
PER_TOKEN = 3_000_000
TOKENS_PER_SECOND = {"none": 12_000.0, "selective": 11_000.0, "full": 9_600.0}
LESS_KEPT = {"none": 1, "selective": 2, "full": 12}
MEASURED_ABOVE = 1_000_000
TORCH_ABOVE = 3_000_000
FEWER_TRAINED = {"": 800, "all-linear": 150}  # of adapters, by their targets
CONTEXT = 600_000_000
DRIVER = 645_922_816
CATEGORIES = (
    "parameters",
    "gradients",
    "optimizer_state",
    "activations",
    "kv_cache",
    "workspace",
    "inputs",
    "communication",
)
RATES = {"bytes_per_second": 4e12, "flops_per_second": 7e14}
OPS = {  # calls, seconds, bound
    "linear_forward:qkv": (2, 0.010, 0.0101),
    "head_loss": (1, 0.008, 0.007),
    "attention_backward": (2, 0.004, 0.001),
}
STEP_SECONDS = 0.020
OPS_CASE = "Ops/tinyllama-1.1b/bf16/adamw-same/batch:8/seq:2048"
ON_A_GPU = {"gpu": "NVIDIA H200", "driver": "580.1", "cuda": "13.0", "cublas": "13.1"}


@functools.cache
def parameters(model: str) -> int:
    published = json.loads((data_dir() / "models" / "parameters.json").read_text())
    return published[model]["parameters"]


@functools.cache
def vram(gpu: str) -> int:
    cards = json.loads((data_dir() / "gpus.json").read_text())["cards"]
    return next(card["total_bytes"]["value"] for card in cards if card["name"] == gpu)


def rows() -> Iterator[dict[str, str]]:
    """The points of the default sweep that are predicted, as axis: value, in the names' order."""
    for entry in json.loads((data_dir() / "sweep.json").read_text())["families"]:
        if entry["family"] in {"Ops", "BatchCliff", "ContextCliff"}:
            continue
        axes = {key: values for key, values in entry.items() if key != "family"}
        for point in itertools.product(*axes.values()):
            yield {"family": entry["family"], **dict(zip(axes, map(str, point), strict=True))}


def name(row: dict[str, str]) -> str:
    alone = ("family", "model", "precision", "optimizer", "strategy")
    parts = [row[key] for key in alone if key in row]
    parts += [f"{key}:{row[key]}" for key in ("batch", "seq", "gpus") if key in row]
    if row.get("attention", "flash") != "flash":
        parts.append(f"attn:{row['attention']}")
    for axis, (key, usual) in LATER.items():
        if row.get(axis, usual) != usual:
            parts.append(f"{key}:{row[axis]}")
    return "/".join(parts)


def trained(row: dict[str, str]) -> int:
    """Parameters that get gradients."""
    n = parameters(row["model"])
    return n // FEWER_TRAINED[row.get("lora-targets", "")] if "lora" in row else n


def _training(row: dict[str, str], batch: int) -> dict[str, float]:
    n = parameters(row["model"])
    weights = n * BYTES[row["precision"]]
    gradients, states = weights, n * STATES[row["optimizer"]]
    if "lora" in row:
        gradients, states = 2 * trained(row), STATES[row["optimizer"]] * trained(row)
    kept = PER_TOKEN * batch * int(row["seq"]) // LESS_KEPT[row.get("checkpoint", "none")]
    held = weights + gradients
    after = {"loaded": weights, "forward": weights + kept, "backward": held}
    after |= {"optimizer": held + states, "zero_grad": weights + states}
    later = {**after, "forward": weights + states + kept, "backward": held + states}
    del later["loaded"]
    counters: dict[str, float] = {}
    for step, stages in ((1, after), (2, later)):
        for stage, value in stages.items():
            counters[f"step{step}_{stage}_after"] = value
            counters[f"step{step}_{stage}_peak"] = value
    peak = max(counters.values())
    return {
        **counters,
        "parameters": weights,
        "gradients": min(gradients, peak - weights - states),
        "optimizer_state": states,
        "activations": max(0, peak - held - states),
        "allocated": peak,
    }


def _shared(row: dict[str, str]) -> dict[str, float]:
    """Each GPU's, where all that one would take is cut or nothing is."""
    cut = row["strategy"] in {"fsdp", "pipeline"}
    found = _training(row, int(row["batch"]))
    return {key: value // (int(row["gpus"]) if cut else 1) for key, value in found.items()}


def _scaling(row: dict[str, str], measured: bool) -> dict[str, float]:
    """What GPUs that train together have beside memory: with each comes 0.9 of one's speed."""
    gpus = int(row["gpus"])
    sent = {"pred_sent": 2e9 * (gpus - 1)}
    bubble = (gpus - 1) / (int(row.get("accumulate", "1")) + gpus - 1)
    if row["strategy"] == "pipeline":
        sent["pred_bubble"] = bubble
    if not measured:
        return sent
    sent |= {"tokens_per_second": 12_000.0 * (0.1 + 0.9 * gpus)}
    if gpus > 1:
        sent |= {"mem_sent": 2e9 * (gpus - 1), "mem_nccl": 1e9, "exposed_seconds": 0.01}
    if row["strategy"] == "pipeline":
        sent["bubble"] = bubble + 0.01
    return sent


def _generation(row: dict[str, str]) -> dict[str, float]:
    weights = parameters(row["model"]) * BYTES[row["precision"]]
    tokens = int(row["batch"]) * int(row["seq"])
    each = 1 if row.get("cache", "unquantized") != "unquantized" else 2
    cache = 131_072 * max(BYTES[row["precision"]], each) * tokens
    unfilled = row.get("lengths") == "spread" and row.get("block", "none") == "none"
    return {
        "parameters": weights,
        "kv_cache": cache,
        "kv_bytes_per_token": cache / tokens,
        "kv_waste": cache // 2 if unfilled else 0,
        "allocated": weights + cache,
    }


def _levels(counters: dict[str, float]) -> dict[str, float]:
    reserved = counters["allocated"] + 2_000_000
    return {**counters, "reserved": reserved, "device_used": reserved + CONTEXT}


def _cliff(row: dict[str, str]) -> dict[str, float]:
    room = vram(row["gpu"]) - DRIVER

    def used(batch: int) -> float:
        return _levels(_training(row, batch))["device_used"]

    largest = bisect.bisect_right(range(1, 200), room, key=used)
    return {**_levels(_training(row, max(largest, 1))), "max_batch": largest}


def counters(row: dict[str, str]) -> dict[str, float]:
    """Without prefix."""
    if row["family"] == "OomCliff":
        return _cliff(row)
    if row["family"] == "MultiGpu":
        return _levels(_shared(row))
    if row["family"] == "Training":
        return _levels(_training(row, int(row["batch"])))
    return _levels(_generation(row))


def _as_google_benchmark_writes(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "iterations": 1,
        "real_time": 0.5,
        "cpu_time": 0.5,
        "time_unit": "ms",
    }


def benchmark(row: dict[str, str], measured: bool) -> dict[str, Any]:
    found = counters(row)
    result: dict[str, Any] = {
        **_as_google_benchmark_writes(name(row)),
        "params": parameters(row["model"]),
        "params_stored": parameters(row["model"]),
        "params_trained": trained(row),
        "oom": 0.0,
        "label": "predicted, virtual:h200; peak in backward of step 2",
    }
    result |= dict.fromkeys((f"pred_{part}" for part in CATEGORIES), 0.0)
    result |= {f"pred_{key}": value for key, value in found.items()}
    if on_host := ON_HOST.get(row.get("optimizer", ""), 0) * trained(row):
        result |= {f"{who}_host": on_host for who in ("pred", "mem")[: 1 + measured]}
    bitsandbytes = "lora" in row and row["precision"] in {"int8", "nf4"}
    asked = BYTES[row["precision"]] >= 2 or bitsandbytes
    if asked and row.get("strategy") not in {"zero2", "pipeline"}:  # bench asks of no others
        result |= {
            f"pytorch_{key}": value + TORCH_ABOVE * (key != "max_batch")
            for key, value in found.items()
        }
    if row["family"] == "MultiGpu":
        result |= _scaling(row, measured)
    if row["family"] != "OomCliff":
        result["article_formula"] = _formula(row)
    if measured:
        result |= {
            f"mem_{key}": value + MEASURED_ABOVE * (key != "max_batch")
            for key, value in found.items()
        }
        result["mem_unattributed"] = 0.0
        if row["family"] == "Training":
            result["tokens_per_second"] = TOKENS_PER_SECOND[row.get("checkpoint", "none")]
        result |= _rounding(row)
    return result


def _rounding(row: dict[str, str]) -> dict[str, float]:
    """The fewer bits, the more."""
    if row["family"] != "Inference" or row["precision"] == "fp32":
        return {}
    step = 1 / BYTES[row["precision"]] ** 2
    return {
        "logits_error": 0.02 * step,
        "trained_loss": 3 + 0.004 * step,
        "trained_loss_fp32": 3.0,
    }


def ops(case: str) -> list[dict[str, Any]]:
    """A training step op by op, and the step."""

    def row(op: str, calls: int, seconds: float, bound: float, **more: float) -> dict[str, Any]:
        return {
            **_as_google_benchmark_writes(f"{case}/{op}"),
            "calls": float(calls),
            "bytes": 1e9,
            "flops": 1e12,
            "seconds": seconds,
            "bound_seconds": bound,
            "of_bound": bound / seconds,
            "label": "measured, cuda:0 NVIDIA H200",
            **more,
        }

    calls, seconds, bound = (sum(figures) for figures in zip(*OPS.values(), strict=True))
    rate = 8 * 2048 / STEP_SECONDS
    more = {"ops_seconds": seconds, "tokens_per_second": rate, **RATES}
    step = row("step", calls, STEP_SECONDS, bound, **more)
    return [*(row(op, *figures) for op, figures in OPS.items()), step]


def _formula(row: dict[str, str]) -> float:
    """The weights' share of the article's formula: enough to be some figure."""
    return parameters(row["model"]) * BYTES[row["precision"]]


def article() -> list[dict[str, Any]]:
    """The article's code on what its tables ask, as it answers."""
    seven, thirteen = 7e9, 13e9
    parts = ("parameters", "gradients", "optimizer_state", "activations", "kv_cache")
    sample = 32 * 4096 * 2  # bytes of a hidden state, over all layers

    def will_it_fit(case: str, *figures: float) -> dict[str, Any]:
        found = {f"article_formula_{part}": f for part, f in zip(parts, figures, strict=True)}
        return {**_as_google_benchmark_writes(f"Article/will_it_fit/7B/{case}"), **found}

    rows = [
        will_it_fit(
            "fp16/adam/batch:4/seq:512",
            *(2 * seven, 2 * seven, 12 * seven, 12 * sample * 512 * 4, 0.0),
        ),
        will_it_fit("int4/batch:8/seq:2048", seven / 2, 0.0, 0.0, 0.0, sample / 2 * 2048 * 8),
    ]
    for vram in (24, 40, 48, 80):
        name = f"Article/find_max_batch_size/7B/int8/seq:512/vram:{vram}GB"
        rows.append({**_as_google_benchmark_writes(name), "article_max_batch": 0.0})
    for strategy, gpus in itertools.product(("data-parallel", "pipeline", "fsdp"), (2, 4)):
        share = 16 * thirteen / (1 if strategy == "data-parallel" else gpus)
        name = f"Article/estimate_multi_gpu_memory/13B/{strategy}/gpus:{gpus}"
        rows.append({**_as_google_benchmark_writes(name), "article_formula": share})
    return rows


def document(measured: bool = False) -> dict[str, Any]:
    context = {
        "date": "2026-11-21T12:00:00+00:00",
        "cuda_module_loading": "none",
        "schema_version": "1",
        "commit": "abc1234",
        "device": "cuda:0 NVIDIA H200" if measured else "virtual:h200",
        "evidence": "measured" if measured else "predicted",
        "overhead": "h200: measured",
        "axes": "model precision optimizer strategy batch: seq: gpus: attn: accumulate: lora: "
        "targets: generate: gpu:",
        "pytorch_optimizers": "sgd: sgd, sgd-master: sgd under autocast, "
        "sgd-momentum: sgd-momentum, adamw: adamw, adamw-master: adamw-fused under autocast, "
        "adamw-same: adamw-fused",
        **dict.fromkeys(("gpu", "driver", "cuda", "cublas", "cudnn", "nccl"), "none"),
        **(ON_A_GPU if measured else {}),
    }
    benchmarks = [*(benchmark(row, measured) for row in rows()), *article()]
    return {"context": context, "benchmarks": benchmarks}


def write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def report(folder: Path, content: dict[str, Any] | None = None) -> int:
    """Its report, into the folder's `report`, without the committed measurements; the status that
    the program ends with."""
    path = write(folder / "bench.json", content or document())
    data = folder / "data"
    if not data.exists():
        shutil.copytree(data_dir(), data, ignore=shutil.ignore_patterns("runs"))
    return main(["--run", str(path), "--out", str(folder / "report"), "--data", str(data)])
