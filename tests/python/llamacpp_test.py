"""Under llama.cpp: its settings, Ollama's names of them, and what is answered beside others."""

import json

import pytest
import vramfit
from installed import ROOT

RUN = {"runtime": "llama.cpp", "model": "llama3-8b", "quant": "Q4_K_M", "gpu": "rtx4090"}


class LlamaConfig:
    """As transformers' PretrainedConfig is read."""

    _name_or_path = "somebody/llama"

    def to_dict(self):
        return json.loads((ROOT / "data/models/llama3-8b/config.json").read_text())


def test_devices_and_its_own_choice():
    answer = vramfit.estimate(**RUN, ctx=32768, gpu_layers=20, cache_type_k="q8_0")
    assert [one.device for one in answer.devices] == ["GPU 0", "host", "host, page-locked"]
    gpu, host, _ = answer.devices
    assert sum(gpu.parts.values()) == answer.levels.allocated
    assert host.parts["model"] > 0, "13 layers are not on the GPU"
    small = {**RUN, "gpu": None, "vram": "6GiB"}
    choice = vramfit.estimate(**small, ctx=8192).own_choice
    assert int(choice["gpu_layers"]) < 33
    chosen = vramfit.estimate(**{**small, **choice})
    assert chosen.total == vramfit.estimate(**small, ctx=8192, fit="on").total


def test_names_of_llama_cpp_and_ollama():
    by_ours = vramfit.estimate(**RUN, ctx=4096, parallel=2, gpu_layers=10, flash_attn="on")
    assert vramfit.estimate(**RUN, c=4096, np=2, ngl=10, fa="on").to_json() == by_ours.to_json()
    ollama = {"num_gpu": 10, "num_batch": 256, "flash_attn": "on"}
    slots = vramfit.estimate(**RUN, num_ctx=2048, num_parallel=2, **ollama)
    assert (slots.asked["ctx"], slots.asked["parallel"]) == (4096, 2)
    batches = {"batch_size": 256, "ubatch_size": 256}
    same = vramfit.estimate(**RUN, c=4096, np=2, ngl=10, fa="on", **batches)
    assert slots.devices == same.devices


@pytest.mark.parametrize("axis", ["ctx", "parallel", "gpu-layers", "gpu_layers"])
def test_the_largest_of_its_sizes(axis):
    key = axis.replace("-", "_")
    found = vramfit.largest(axis, **RUN)
    assert found.largest.size == found.to_dict()[f"max_{key}"] > 1
    assert vramfit.estimate(**RUN, **{key: found.largest.size}).fits


def test_batch_is_no_size_of_it():
    with pytest.raises(vramfit.BadInput, match=r"^max_batch: not under runtime llama.cpp; max_"):
        vramfit.max_batch(**RUN)


def test_a_config_object_is_what_a_recipe_is_for():
    run = {name: value for name, value in RUN.items() if name != "model"}
    of_object = vramfit.estimate(**run, config=LlamaConfig(), ctx=4096)
    assert of_object.total == vramfit.estimate(**RUN, ctx=4096).total


def test_others_tell_of_no_devices():
    answer = vramfit.estimate(model="gpt2-124m", gpu="rtx4090")
    assert (answer.devices, answer.own_choice) == ((), None)
