"""DeepSpeed under `vramfit run`: its ZeRO, with its own optimizers, whose kernels are not compiled.

No wheel of it is published, so it is in no lock: VRAMFIT_DEEPSPEED names a Python that has it, and
torch.
"""

import json
import os
from pathlib import Path

import pytest

PYTHON = Path(os.environ.get("VRAMFIT_DEEPSPEED") or "/nowhere")
needs_deepspeed = pytest.mark.skipif(
    not PYTHON.exists(), reason="VRAMFIT_DEEPSPEED names no Python with DeepSpeed"
)

RANKS, LAYERS, WIDTH = 4, 8, 1024
PARAMETERS = LAYERS * WIDTH * WIDTH
BUCKET = 1 << 20  # elements
OF_CUBLAS = 64 << 20  # workspaces of forward's thread and backward's
ROUNDING = 64 << 10
_SCRIPT = """
import contextlib, json, sys, deepspeed, torch
config = json.loads(sys.argv[1])
is_cut = config["zero_optimization"]["stage"] == 3
with deepspeed.zero.Init(config_dict_or_path=config) if is_cut else contextlib.nullcontext():
    linears = [torch.nn.Linear({width}, {width}, bias=False) for _ in range({layers})]
    model = torch.nn.Sequential(*linears)
engine, *_ = deepspeed.initialize(
    model=model, model_parameters=model.parameters(), config=config)
for _ in range(3):
    rows = torch.ones(8, {width}, device="cuda", dtype=torch.bfloat16)
    engine.backward(engine(rows).float().mean())
    engine.step()
"""

_TRL = """
import json, sys
from datasets import Dataset
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer
arguments = SFTConfig(
    deepspeed=json.loads(sys.argv[1]), per_device_train_batch_size=8, max_steps=3, bf16=True,
    gradient_checkpointing=False, report_to=[], save_strategy="no")
model = LlamaForCausalLM(LlamaConfig(
    hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8,
    vocab_size=8000, use_cache=False))
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), eos_token="a",
    pad_token="a")
rows = Dataset.from_dict({"input_ids": [[0] * 128] * 64})
SFTTrainer(model, arguments, train_dataset=rows, processing_class=tokenizer).train()
"""
OF_LLAMA = 4 * (4 * 512 * 512 + 3 * 512 * 1024 + 2 * 512) + 512 + 2 * 8000 * 512


@pytest.fixture(autouse=True)
def _first_rank(as_rank, monkeypatch, tmp_path):
    as_rank(0, RANKS)
    monkeypatch.chdir(tmp_path)  # trainers leave files


def zero_of(**settings) -> dict:
    return {
        "reduce_bucket_size": BUCKET, "allgather_bucket_size": BUCKET,
        "stage3_prefetch_bucket_size": 0, "stage3_param_persistence_threshold": 0, **settings,
    }  # fmt: skip


@needs_deepspeed
@pytest.mark.parametrize(
    ("zero", "kept", "buckets"),
    [
        ({"stage": 1}, 2 + 12 / RANKS, 0),
        ({"stage": 2}, 2 + 12 / RANKS, 0),
        ({"stage": 3}, (2 + 12 + 2) / RANKS, 1),
        ({"stage": 2, "offload_optimizer": {"device": "cpu"}}, 2, 1),
        ({"stage": 3, "offload_optimizer": {"device": "cpu"},
          "offload_param": {"device": "cpu"}}, 0, 1),
    ],
)  # fmt: skip
def test_zero(run, zero, kept, buckets):
    """Bytes of a parameter that stay between steps: weights in bf16, and in fp32 beside two states;
    ZeRO-3 keeps the buffer of its gradients, too. What is reduced lies in a bucket."""
    config = {
        "train_micro_batch_size_per_gpu": 8,
        "bf16": {"enabled": True},
        "gradient_clipping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
        "zero_optimization": zero_of(**zero),
    }
    script = _SCRIPT.replace("{width}", str(WIDTH)).replace("{layers}", str(LAYERS))
    ran = run(script, "--gpus", RANKS, gpu="h200", before=(PYTHON,), after=(json.dumps(config),))
    assert ran.returncode == 0, ran.stderr
    last = ran.answer["stages"][-1]["after"] - OF_CUBLAS - buckets * 2 * BUCKET
    assert last == pytest.approx(kept * PARAMETERS, abs=ROUNDING)


@needs_deepspeed
@pytest.mark.parametrize(
    ("stage", "kept", "buckets"),
    [(1, 2 + 12 / RANKS, 0), (2, 2 + 12 / RANKS, 0), (3, (2 + 12 + 2) / RANKS, 1)],
)
def test_trl(run, stage, kept, buckets):
    """As above, of a llama; the trainer keeps its batch and what it logs, too."""
    config = {
        "train_micro_batch_size_per_gpu": "auto",
        "bf16": {"enabled": True},
        "zero_optimization": zero_of(stage=stage),
    }
    ran = run(_TRL, "--gpus", RANKS, gpu="h200", before=(PYTHON,), after=(json.dumps(config),))
    assert ran.returncode == 0, ran.stderr
    last = ran.answer["stages"][-1]["after"] - OF_CUBLAS - buckets * 2 * BUCKET
    assert last == pytest.approx(kept * OF_LLAMA, rel=0.01)
