"""data/tapes: what fit says by a tape, and what the model's own code takes on the stand-in."""

import json
import os
import subprocess
import sys

import pytest
from stood_in import EXACT, OF_TORCHAUDIO, PACKAGE, ROOT, forked, needs_torch

pytestmark = needs_torch

TAPES = ROOT / "data" / "tapes"
# Small, and of other sizes than tapes were recorded at.
SIZES = {
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 8000,
    "max_position_embeddings": 4096,
}
MODELS = {
    "mixtral": {"num_local_experts": 6, "num_experts_per_tok": 2},
    "qwen3_moe": {
        "head_dim": 96,
        "num_experts": 24,
        "num_experts_per_tok": 6,
        "moe_intermediate_size": 320,
        "norm_topk_prob": True,
        "tie_word_embeddings": True,
    },
    "olmoe": {"num_experts": 16, "num_experts_per_tok": 4},
    "gpt_oss": {
        "head_dim": 64,
        "num_local_experts": 12,
        "num_experts_per_tok": 3,
        "sliding_window": 128,
        "layer_types": ["sliding_attention", "full_attention"] * 4,
    },
    "cohere2": {
        "head_dim": 64,
        "sliding_window": 256,
        "layer_types": [*["sliding_attention"] * 3, "full_attention"] * 2,
    },
    "deepseek_v3": {  # whose keys are copied into slices
        "num_key_value_heads": 8,
        "n_routed_experts": 16,
        "n_group": 4,
        "topk_group": 2,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 320,
        "first_k_dense_replace": 1,
        "q_lora_rank": 96,
        "kv_lora_rank": 64,
        "qk_rope_head_dim": 32,
        "qk_nope_head_dim": 64,
        "v_head_dim": 48,
    },
    "qwen3_next": {  # whose linear attention goes over 64 tokens at a time
        "head_dim": 64,
        "num_experts": 16,
        "num_experts_per_tok": 4,
        "moe_intermediate_size": 320,
        "shared_expert_intermediate_size": 224,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 48,
        "linear_num_key_heads": 4,
        "linear_num_value_heads": 8,
    },
    "gemma4_text": {  # whose last layers use keys and values of others
        "head_dim": 64,
        "global_head_dim": 288,
        "hidden_size_per_layer_input": 48,
        "vocab_size_per_layer_input": 7000,
        "num_kv_shared_layers": 4,
        "use_double_wide_mlp": True,
        "sliding_window": 128,
        "final_logit_softcapping": 30.0,
        "layer_types": [*["sliding_attention"] * 3, "full_attention"] * 2,
    },
    "gemma4_text.without_inputs": {  # whose last layer leaves keys, for none
        "head_dim": 64,
        "global_head_dim": 512,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
        "hidden_size_per_layer_input": 0,
        "num_kv_shared_layers": 0,
        "tie_word_embeddings": False,
        "sliding_window": 128,
        "final_logit_softcapping": 30.0,
        "use_bidirectional_attention": "vision",
        "layer_types": ["sliding_attention", "full_attention"] * 4,
    },
    "gemma3n_text": {  # whose recomputed layers leave graphs behind
        "head_dim": 64,
        "intermediate_size": [1408] * 8,
        "hidden_size_per_layer_input": 48,
        "vocab_size_per_layer_input": 7000,
        "num_kv_shared_layers": 2,
        "laurel_rank": 16,
        "activation_sparsity_pattern": [0.95, 0.95, *[0.0] * 6],
        "layer_types": ["sliding_attention", "full_attention"] * 4,
    },
    "bloom": {"n_head": 8, "n_layer": 4},  # which has a gradient of its own
    "xglm": {"ffn_dim": 1408},
    "llama4_text": {  # whose rotary embeddings are complex
        "intermediate_size_mlp": 1024,
        "num_local_experts": 4,
    },
}
WAYS = (
    "mixtral --generate 8 --batch 1 --seq 300",
    "mixtral --generate 40 --batch 3 --seq 77 --precision fp32",
    "qwen3_moe --generate 16 --batch 2 --seq 100",
    "qwen3_moe --generate 8 --batch 2 --seq 100 --attention eager",
    "gpt_oss --generate 8 --batch 2 --seq 60",
    "gpt_oss --generate 40 --batch 1 --seq 200",
    "cohere2 --generate 8 --batch 2 --seq 60",
    "cohere2 --batch 2 --seq 300",
    "mixtral --batch 2 --seq 300",
    "mixtral --batch 1 --seq 512 --precision fp32 --autocast bf16",
    "mixtral --batch 3 --seq 256 --checkpoint full",
    "qwen3_moe --batch 4 --seq 128 --optimizer sgd",
    "qwen3_moe --batch 2 --seq 200 --lora 16 --lora-targets q_proj,o_proj",
    "olmoe --batch 2 --seq 256 --precision fp32",
    "deepseek_v3 --batch 2 --seq 200",
    "deepseek_v3 --batch 2 --seq 128 --checkpoint full --lora 8 --lora-targets o_proj",
    "llama4_text --batch 2 --seq 160",
    "qwen3_next --batch 2 --seq 64",
    "qwen3_next --batch 1 --seq 300 --precision fp32",
    "qwen3_next --generate 8 --batch 2 --seq 40",
    "gemma4_text --batch 2 --seq 100",
    "gemma4_text --batch 1 --seq 300 --optimizer sgd",
    "gemma4_text --batch 2 --seq 100 --checkpoint full",
    "gemma4_text --generate 8 --batch 2 --seq 130",
    "gemma4_text.without_inputs --batch 2 --seq 100 --checkpoint full",
    "gemma3n_text --batch 2 --seq 100 --checkpoint full",
    "xglm --batch 2 --seq 77 --lora 8 --lora-targets k_proj --quant nf4 --attention eager",
    "bloom --batch 2 --seq 100",
    "bloom --batch 3 --seq 77 --precision fp32 --autocast bf16",
)


def _environment():
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(PACKAGE)}


def _asked(program, folder, flags):
    command = [*program, "--model", folder] if program[-1] != "model" else [*program, folder]
    ran = subprocess.run(
        [*map(str, command), "--gpu", "h200", *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=_environment(),
    )
    assert ran.returncode in (0, 1), ran.stderr
    return json.loads(ran.stdout)


def _peaks(answer):
    """Of each stage of the first two steps: allocated and reserved at most. On the stand-in all of
    generate() is one."""
    same = {"zero_grad": "optimizer", "prefill": "forward", "decode": "forward"}
    peaks = {}
    for stage in answer["stages"]:
        name = same.get(stage["name"], stage["name"])
        if stage["step"] not in (1, 2):
            continue
        before = peaks.get((stage["step"], name), (0, 0))
        now = (stage["peak"], stage["peak_reserved"])
        peaks[stage["step"], name] = tuple(map(max, before, now))
    return peaks


@pytest.mark.parametrize("way", WAYS)
def test_fit_has_every_peak_of_the_models_own_code(tmp_path, way):
    name, *flags = way.split()
    if "--generate" not in flags:
        flags.append("--train")
    config = {"model_type": name.partition(".")[0], **SIZES, **MODELS[name]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    if "--precision" not in flags:
        flags += ["--precision", "bf16"]
    said = _asked([ROOT / "build" / "fit"], tmp_path, [*flags, "--json"])
    module = [sys.executable, "-m", "vramfit", "model"]
    # Graphs that are left behind go when Python collects them, which is another time in a fork.
    python = EXACT if name == "gemma3n_text" else forked()
    took = _asked(module, tmp_path, [*flags, "--python", python, "--json", "-"])
    left = 0 if "--quant" in flags or python is EXACT else OF_TORCHAUDIO
    assert _peaks(said) == {
        at: (allocated + left, reserved) for at, (allocated, reserved) in _peaks(took).items()
    }


def test_recording_anew_gives_the_same(tmp_path):
    # Those besides: layers that give attention's weights, and that are dropped as the host draws.
    types = ("mixtral", "gpt_neox_japanese", "xglm")
    record = ROOT / "scripts" / "tapes"
    dry = [sys.executable, "-m", "vramfit", "run", "--gpu", "h200", "--"]
    ran = subprocess.run(
        [*dry, str(EXACT), str(record), str(tmp_path), *types],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env=_environment(),
    )
    assert ran.returncode == 0, ran.stderr
    for name in types:
        tape = f"{name}.tape"
        assert (tmp_path / tape).read_text() == (TAPES / tape).read_text()
