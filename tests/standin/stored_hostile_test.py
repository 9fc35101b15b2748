"""Configs, headers and indexes of checkpoints that somebody made wrong, or up: each is refused in a
line."""

import json

import pytest
from stood_in import needs_torch, play, run_script
from stored_test import _BEGIN, _SMALL, folder_of

pytestmark = needs_torch

_W4 = {"num_bits": 4, "type": "int", "strategy": "channel", "symmetric": True}


def _compressed(**group) -> dict:
    return {
        "quant_method": "compressed-tensors", "format": "pack-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": _W4, **group}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("quantization", "says"),
    [
        ({"quant_method": "gptq", "bits": "four"}, "is none of gptq's: ValueError"),
        ({"quant_method": "gptq", "bits": 4, "dynamic": ["-:x"]}, "is none of gptq's: Attri"),
        ({"quant_method": "gptq", "bits": -4}, "is none of gptq's: ValueError, a tensor of"),
        ({"quant_method": "fp8", "weight_block_size": [0, 0]}, "is none of fp8's: ZeroDivision"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, "is none of fp8's: ValueError"),
        (
            {"quant_method": "fp8", "modules_to_not_convert": ["("]},
            "is none of fp8's: error, missing ), unterminated subpattern",
        ),
        (_compressed(weights={**_W4, "num_bits": 0}), "is none of compressed-tensors's: ZeroD"),
        (_compressed(weights=None), "is none of compressed-tensors's: TypeError"),
        (_compressed(weights={**_W4, "strategy": "none"}), "not told by its config ('none')"),
        (_compressed(targets=["re:("]), "is none of compressed-tensors's: error, missing )"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_quantization_config_that_is_none(tmp_path, quantization, says):
    """Twice in one process: what the first left half made is not in the second's way."""
    script = """
from vramfit.standin._door import StandInError
for _ in range(2):
    try:
        transformers.modeling_utils._get_resolved_checkpoint_files(
            folder, variant=None, gguf_file=None, use_safetensors=None, user_agent=None,
            is_remote_code=False)
    except StandInError as error:
        told = str(error)
tell(told)
"""
    folder = folder_of(tmp_path, {**_SMALL, "quantization_config": quantization})
    (told,) = play(_BEGIN + script, MODEL=folder)
    assert told.startswith("--random-weights: ")
    assert says in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"hidden_size": -256}, "transformers makes no model of the config of "),
        ({"num_hidden_layers": 1 << 70}, "num_hidden_layers: is 1180591620717411303424; a whole"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_config_of_sizes_that_no_model_has(tmp_path, wrong, says):
    folder = folder_of(tmp_path, {**_SMALL, **wrong})
    script = f"from transformers import AutoModelForCausalLM as M\nM.from_pretrained({folder!r})\n"
    ran = run_script(tmp_path, script, "--random-weights")
    assert ran.returncode == 2
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(ran.stderr.splitlines()) == 1, ran.stderr


def test_headers_of_more_than_a_file_can_hold(tmp_path):
    text = json.dumps({"a": {"dtype": "F64", "shape": [1 << 62], "data_offsets": [0, 1]}}).encode()
    folder = folder_of(tmp_path, _SMALL)
    (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    script = f"from transformers import AutoModelForCausalLM as M\nM.from_pretrained({folder!r})\n"
    ran = run_script(tmp_path, script, "--random-weights")
    assert ran.returncode == 2
    assert f"the files of {folder} cannot be made: " in ran.stderr


def test_an_index_of_the_hub_s_that_names_files_elsewhere():
    script = """
import huggingface_hub, types
from vramfit.standin._headers import of_hub
header = types.SimpleNamespace(tensors={})
told = types.SimpleNamespace(files_metadata={"../../elsewhere.safetensors": header})
huggingface_hub.constants.HF_HUB_OFFLINE = False
huggingface_hub.get_safetensors_metadata = lambda *_, **__: told
try:
    of_hub("someone/small", {})
except RuntimeError as error:
    tell(str(error))
"""
    (told,) = play(_BEGIN + script, MODEL="")
    assert told.endswith("a file named '../../elsewhere.safetensors'")


_ENGINE = """
import multiprocessing, sys, torch
torch.zeros(1, device="cuda")

def load():
    from vllm.model_executor.model_loader.default_loader import DefaultModelLoader
    try:
        DefaultModelLoader()._prepare_weights(sys.argv[1])
    except Exception:  # as an engine's core does it
        print("of no use to anyone", file=sys.stderr)
        raise

if __name__ == "__main__":
    core = multiprocessing.get_context("spawn").Process(target=load)
    core.start()
    core.join()
    if core.exitcode:
        raise RuntimeError("Engine core initialization failed. See root cause above.")
"""
_LOADER = """
class DefaultModelLoader:
    def _prepare_weights(self, name):
        return name
"""


def test_an_engine_s_process_ends_the_run_in_a_line(tmp_path):
    """Of vLLM there is one module here, which its loader is in."""
    package = tmp_path / "vllm" / "model_executor" / "model_loader"
    package.mkdir(parents=True)
    (package / "default_loader.py").write_text(_LOADER)
    (tmp_path / "model").mkdir()
    folder = folder_of(
        tmp_path / "model", {**_SMALL, "quantization_config": {"quant_method": "bitnet"}}
    )
    ran = run_script(tmp_path, _ENGINE, "--random-weights", after=(folder,))
    assert ran.returncode == 2, ran.stderr
    assert "is quantized by bitnet" in ran.stderr
    assert "of no use" not in ran.stderr
