"""vramfit submit-case, on a GPU that only counts: the case that it writes is what is predicted."""

import json
import os
import subprocess
import sys

import pytest
from stood_in import OF_TORCHAUDIO, PACKAGE, forked, needs_torch

pytestmark = needs_torch


@pytest.fixture
def submit(tmp_path):
    """What the command writes under vramfit run, which is its GPU."""

    def run(*arguments, gpu="h100-80gb"):
        out = tmp_path / "case.jsonl"
        ran = subprocess.run(
            [
                *(sys.executable, "-m", "vramfit", "run", "--gpu", gpu, "--steps", "99", "--"),
                *(sys.executable, "-m", "vramfit", "submit-case", *arguments),
                *("--python", forked(), "--out", out),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(PACKAGE)},
        )
        assert ran.returncode in (0, 1), ran.stderr
        return json.loads(out.read_text())

    return run


TINY = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 32000,
}


@pytest.mark.parametrize(
    "flags",
    [
        "--train --batch 2 --seq 128 --checkpoint full --accumulate 2",
        "--train --batch 2 --seq 128 --lora 8 --lora-targets q_proj,v_proj --quant nf4",
        "--batch 2 --seq 128 --generate 4",
    ],
)
def test_it_takes_what_is_predicted(submit, tmp_path, flags):
    import vramfit  # noqa: PLC0415  PACKAGE's

    config = tmp_path / "config.json"
    config.write_text(json.dumps(TINY))
    case = submit(str(config), *flags.split())
    said = vramfit.estimate(**case["question"]).levels
    left = 0 if "--quant" in flags else OF_TORCHAUDIO
    assert case["measured"] == {"allocated": said.allocated - left, "reserved": said.reserved}
    assert 0 < case["beside"][0] <= case["beside"][1]


def test_a_run_without_room_is_told_as_one(submit):
    case = submit("gpt2-1.5b", "--train", "--batch", "8", "--seq", "1024", gpu="rtx4060")
    assert case["outcome"] == "OOM"
