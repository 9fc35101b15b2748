"""`--fused-lm-head`: what fit says, and what TRL's own code takes on the stand-in."""

import json
import os
import subprocess
import sys

import pytest
from stood_in import PACKAGE, ROOT, forked, needs_torch

pytestmark = needs_torch

_PROGRAM = ROOT / "tests" / "standin" / "programs" / "fused_head.py"
_SIZES = {
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 40000,  # more than a tile has
    "max_position_embeddings": 8192,
}
_EXPERTS = {
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 320,
    "norm_topk_prob": True,
}
_TYPES = {
    "llama": _SIZES,
    "qwen3": {**_SIZES, "head_dim": 64, "tie_word_embeddings": True},
    "gemma2": {**_SIZES, "head_dim": 64, "final_logit_softcapping": 30.0},
    "qwen3_moe": {**_SIZES, **_EXPERTS, "head_dim": 64},
    "olmo3": {**_SIZES, "num_hidden_layers": 4},  # the fourth is of another kind
}
# Type, card, batch, seq, precision, autocast, LoRA's targets.
_RUNS = (
    "llama h200 2 300 bfloat16 no none",
    "llama rtx4090 3 2000 bfloat16 no none",
    "qwen3 h200 2 2500 float32 bf16 none",
    "qwen3 a100-80gb 1 513 float16 no q_proj,v_proj",
    "gemma2 rtx5090 2 900 bfloat16 no none",
    "llama l4 2 700 float32 no none",
    "qwen3_moe h200 2 600 bfloat16 no none",
    "qwen3_moe rtx4090 3 1500 float32 bf16 q_proj,o_proj",
    "olmo3 a100-80gb 5 900 bfloat16 bf16 none",
)
_PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


def _asked(command):
    ran = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(PACKAGE)},
    )
    assert ran.returncode in (0, 1), ran.stderr
    return json.loads(ran.stdout)


def _peaks(answer):
    """Of each stage of the first two steps: allocated and reserved at most."""
    return {
        (stage["step"], stage["name"]): (stage["peak"], stage["peak_reserved"])
        for stage in answer["stages"]
        if stage["step"] in (1, 2) and stage["name"] in ("forward", "backward", "optimizer")
    }


@pytest.mark.parametrize("run", _RUNS)
def test_fit_has_every_peak_of_trls_code(tmp_path, run):
    kind, card, batch, seq, dtype, autocast, lora = run.split()
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind, **_TYPES[kind]}))
    flags = ["--batch", batch, "--seq", seq, "--precision", _PRECISIONS[dtype]]
    flags += [] if autocast == "no" else ["--autocast", autocast]
    flags += [] if lora == "none" else ["--lora", "8", "--lora-targets", lora]
    fit = [ROOT / "build" / "fit", "--model", tmp_path, "--gpu", card, "--train"]
    said = _asked([*fit, *flags, "--optimizer", "adamw", "--fused-lm-head", "--json"])
    dry = [sys.executable, "-m", "vramfit", "run", "--gpu", card, "--json", "-", "--steps", "3"]
    took = _asked([*dry, "--", forked(), _PROGRAM, tmp_path, batch, seq, dtype, autocast, lora])
    assert said["asked"]["fused_lm_head"] is True
    for stage, (peak, reserved) in _peaks(took).items():
        assert _peaks(said)[stage][0] == peak, stage
        # Triton's kernels are loaded where a segment would lie, which changes which blocks meet.
        assert _peaks(said)[stage][1] == pytest.approx(reserved, rel=0.003), stage
