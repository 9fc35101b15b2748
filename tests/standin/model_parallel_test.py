"""fit's answer for GPUs that cut a model is what the plain script takes under `vramfit run`."""

import json
import os
import re
import subprocess
import sys

import pytest
from stood_in import PACKAGE, ROOT, needs_torch

SCRIPT = ROOT / "tests" / "fixtures" / "pytorch" / "model_parallel.py"
OPTIMIZERS = {"adamw_loop": "adamw-loop", "adamw_fused": "adamw-fused"}


def arch(model_type: str, layers: int, **more) -> dict:
    return {
        "model_type": model_type, "hidden_size": 384, "intermediate_size": 1024,
        "num_hidden_layers": layers, "num_attention_heads": 12, "num_key_value_heads": 4,
        "vocab_size": 4096, "max_position_embeddings": 2048, **more,
    }  # fmt: skip


def case(of: dict, strategy: str, dtype: str, b: int, s: int, **more) -> dict:
    opt = "adamw_loop" if strategy == "tp" else "adamw_fused"
    return {"arch": of, "strategy": strategy, "dtype": dtype, "b": b, "s": s, "opt": opt, **more}


def fit(folder, asked: dict, gpus: int) -> dict:
    (folder / "config.json").write_text(json.dumps(asked["arch"]))
    strategy = asked["strategy"]
    how = ("tp",) if strategy == "tp" else ("pipeline", "--schedule", strategy)
    line = [
        sys.executable, "-m", "vramfit", "--config", folder, "--gpu", "h200", "--json", "--train",
        "--precision", asked["dtype"], "--batch", asked["b"], "--seq", asked["s"],
        "--optimizer", OPTIMIZERS[asked["opt"]], "--accumulate", asked.get("accum", 1),
        "--checkpoint", "full" if asked.get("ckpt") else "none",
        "--gpus", gpus, "--strategy", *how,
    ]  # fmt: skip
    ran = subprocess.run(
        [*map(str, line)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def played(run, out, cases: dict | list[dict], gpus: int, rank: int = 0) -> list[dict]:
    ran = run(
        SCRIPT.read_text(),
        *("--gpus", gpus, "--rank", rank, "--random-weights"),
        gpu="h200",
        after=(json.dumps(cases), str(out)),
    )
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    return [line["result"]["stages"] for line in lines if line["case"]["rank"] == rank]


def most(stages: list[dict], level: str) -> int:
    return max(stage[level] for stage in stages)


@needs_torch
@pytest.mark.parametrize("gpus", [2, 4])
def test_tensor_parallel(run_forked, as_rank, tmp_path, gpus):
    as_rank(0, gpus)
    cases = [
        case(arch("llama", 3), "tp", "bf16", 2, 320),
        case(arch("qwen2", 2, tie_word_embeddings=True), "tp", "fp32", 1, 500, ckpt=True),
        case(arch("qwen3", 2, head_dim=64), "tp", "bf16", 3, 200, accum=2),
    ]
    for asked, read in zip(cases, played(run_forked, tmp_path / "out", cases, gpus), strict=True):
        answer = fit(tmp_path, asked, gpus)
        steps = [stage for key, stage in read.items() if key.startswith("step")]
        assert answer["levels"]["allocated"] == most(steps, "peak")
        ends = {f"step{one['step']}.{one['name']}": one["after"] for one in answer["stages"]}
        for key in ("step1.optimizer", "step1.zero_grad", "step2.optimizer"):
            assert ends[key] == read[key]["alloc"]


@needs_torch
@pytest.mark.parametrize(
    ("gpus", "asked"),
    [
        (2, case(arch("llama", 7), "gpipe", "bf16", 2, 320, accum=3)),
        (3, case(arch("qwen2", 7), "1f1b", "fp32", 1, 320, accum=4, ckpt=True)),
    ],
)
def test_a_pipeline(run, as_rank, tmp_path, gpus, asked):
    """Of the stage that takes most; those before it run as well."""
    answer = fit(tmp_path, asked, gpus)
    note = next(note for note in answer["notes"] if note.startswith("figures are of GPU"))
    rank = int(re.search(r"GPU (\d)", note)[1])
    as_rank(rank, gpus)
    (read,) = played(run, tmp_path / "out", asked, gpus, rank)
    steps = [stage for key, stage in read.items() if key.startswith("step")]
    assert answer["levels"]["allocated"] == most(steps, "peak")
    assert answer["levels"]["reserved"] >= most(steps, "peak_reserved")
