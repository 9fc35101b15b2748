"""vLLM's loaders, of checkpoints of which a config is all that there is; and an engine beside a
trainer, which sleeps. VRAMFIT_VLLM as of vllm_test.py."""

import json

import pytest
from vllm_test import CASES, PYTHON, needs_vllm

pytestmark = needs_vllm

ARCH = {**CASES["llama2-7b eager"]["case"]["arch"], "num_hidden_layers": 4}
WEIGHTS = 2 * 4 * (4 * 4096**2 + 3 * 4096 * 11008)  # of its layers' products, in 16 bits

_SERVE = """
import sys
from vllm import LLM
LLM(model=sys.argv[1], skip_tokenizer_init=True, enforce_eager=True, max_model_len=1024)
"""


GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
FP8 = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}


@pytest.mark.parametrize(
    ("quantization", "share"),
    [(GPTQ, 0.27), (AWQ, 0.27), (FP8, 0.51)],
    ids=["gptq", "awq", "fp8"],
)
def test_a_checkpoint_is_read_as_it_is_stored(run, tmp_path, quantization, share):
    def weights(more) -> int:
        place = tmp_path / f"model{len(more)}"
        place.mkdir()
        config = {**ARCH, "dtype": "float16", **more}
        (place / "config.json").write_text(json.dumps(config))
        ran = run(_SERVE, "--random-weights", gpu="h200", before=(PYTHON,), after=(str(place),))
        assert ran.returncode == 0, ran.stderr
        assert ran.answer["vllm"]["settings"]["load_format"] == "auto"
        return ran.answer["vllm"]["counted"]["weights"]

    plain, packed = weights({}), weights({"quantization_config": quantization})
    assert plain - packed == pytest.approx((1 - share) * WEIGHTS, rel=0.02)


_GRPO = """
import sys
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer
words = {f"w{i}": i for i in range(997)} | {"<eos>": 997, "<unk>": 998, "<pad>": 999}
tokens = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
tokens.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=tokens, eos_token="<eos>", unk_token="<unk>", pad_token="<pad>")
tokenizer.save_pretrained(sys.argv[1])
GRPOTrainer(
    model=sys.argv[1],
    reward_funcs=lambda completions, **_: [float(i) for i, _ in enumerate(completions)],
    args=GRPOConfig(
        output_dir=sys.argv[1], per_device_train_batch_size=8, max_completion_length=32,
        use_vllm=True, vllm_mode="colocate", vllm_gpu_memory_utilization=0.3,
        vllm_enable_sleep_mode=True, vllm_max_model_length=256, bf16=True, report_to=[],
        save_strategy="no", model_init_kwargs={"dtype": "bfloat16"}),
    train_dataset=Dataset.from_list([{"prompt": "w1 w2 w3"}] * 64),
    processing_class=tokenizer,
).train()
"""


def test_an_engine_beside_a_trainer_sleeps_while_that_trains(run, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    config = {**ARCH, "hidden_size": 1024, "intermediate_size": 2048, "num_attention_heads": 8}
    config |= {"num_key_value_heads": 8, "vocab_size": 1000, "dtype": "bfloat16"}
    (model / "config.json").write_text(json.dumps(config))
    ran = run(_GRPO, "--random-weights", gpu="h100-80gb", before=(PYTHON,), after=(str(model),))
    assert ran.returncode == 0, ran.stderr
    assert ran.answer["steps"] == 3
    step = {stage["name"]: stage for stage in ran.answer["stages"] if stage["step"] == 3}
    assert list(step) == ["wake_up", "sample", "sleep", "forward", "backward", "optimizer"]
    cache = ran.answer["vllm"]["available"]
    for awake in ("wake_up", "sample"):
        assert step[awake]["after"] > cache
        assert step[awake]["device_used"] > cache
    for asleep in ("forward", "backward", "optimizer"):
        assert step[asleep]["peak_reserved"] < cache / 2
        assert step[asleep]["peak_device_used"] < cache / 2
    assert ran.answer["peak"]["stage"] in ("wake_up", "sample", "sleep")
    assert ran.answer["fits"]
