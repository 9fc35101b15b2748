"""What transformers takes of a GPU to load checkpoints that are stored quantized.

    PYTHONPATH=../../../python python measure_stored.py OUT.jsonl

Each case runs in a process of its own. Its files are of zeros, laid out as the project's own rules
say (vramfit.standin._quantized): what is measured is what loading them takes. `load` and `forward`:
allocated, the most of it so far, and reserved, in bytes; a text where transformers itself fails.
Tensors are read one after another (HF_DEACTIVATE_ASYNC_LOAD=1): four threads, transformers' own
way, take them in another order each time.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import types
from importlib.metadata import version
from pathlib import Path

import torch
import transformers

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048,
    "intermediate_size": 5632, "num_hidden_layers": 4, "num_attention_heads": 32,
    "num_key_value_heads": 4, "vocab_size": 32000,
}  # fmt: skip
MOE = {
    "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 1024,
    "moe_intermediate_size": 512, "intermediate_size": 2048, "num_hidden_layers": 2,
    "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 32000,
    "num_experts": 8, "num_experts_per_tok": 2, "decoder_sparse_step": 1, "norm_topk_prob": True,
}  # fmt: skip
GPT_OSS = {
    "model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "hidden_size": 1024,
    "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 16,
    "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 32000, "num_local_experts": 8,
    "num_experts_per_tok": 2, "layer_types": ["sliding_attention", "full_attention"],
}  # fmt: skip
UNQUANTIZED = [
    "model.layers.*.self_attn",
    "model.layers.*.mlp.router",
    "model.embed_tokens",
    "lm_head",
]


def scheme(bits, kind, strategy, group=None, **more):
    told = {"num_bits": bits, "type": kind, "strategy": strategy, "group_size": group}
    return {**told, "symmetric": True, **more}


def compressed(layout, weights, inputs=None):
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {
        "quant_method": "compressed-tensors", "format": layout, "ignore": ["lm_head"],
        "quantization_status": "compressed", "kv_cache_scheme": None,
        "config_groups": {"group_0": {**group, "output_activations": None}},
    }  # fmt: skip


METHODS = {
    "plain": None,
    "fp8": {
        "quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
        "weight_block_size": [128, 128],
    },
    "bnb4": {
        "quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False,
        "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True,
        "bnb_4bit_compute_dtype": "bfloat16", "bnb_4bit_quant_storage": "uint8",
    },
    "bnb8": {
        "quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False,
        "llm_int8_threshold": 6.0,
    },
    "w4a16": compressed("pack-quantized", scheme(4, "int", "group", 128)),
    "w4a16asym": compressed("pack-quantized", scheme(4, "int", "group", 128, symmetric=False)),
    "fp8dyn": compressed(
        "float-quantized", scheme(8, "float", "channel"), scheme(8, "float", "token", dynamic=True)
    ),
    "w8a8": compressed(
        "int-quantized", scheme(8, "int", "channel"), scheme(8, "int", "token", dynamic=True)
    ),
    "nvfp4": compressed(
        "nvfp4-pack-quantized",
        scheme(4, "float", "tensor_group", 16),
        scheme(4, "float", "tensor_group", 16, dynamic="local"),
    ),
}  # fmt: skip


def cases():
    for family, arch in {"llama": LLAMA, "moe": MOE}.items():
        for method, told in METHODS.items():
            yield case(f"{family}-{method}", arch, told)
    yield case(
        "oss-mxfp4", GPT_OSS, {"quant_method": "mxfp4", "modules_to_not_convert": UNQUANTIZED}
    )
    for name, arch in {"llama-fp8": LLAMA, "llama-w4a16": LLAMA, "moe-fp8": MOE}.items():
        yield case(name, arch, METHODS[name.split("-")[1]], dequantize=True)


def case(name, arch, quantization, *, dequantize=False):
    config = {**arch, "dtype": "bfloat16"}
    if quantization is not None:
        config["quantization_config"] = quantization
    return {"name": name, "config": config, "dequantize": dequantize}


def made(folder, config):
    """A checkpoint of zeros, by the package's own rules; its compiled part is not needed."""
    package = Path(__file__).resolve().parents[3] / "python" / "vramfit"
    for name, place in {"vramfit": package, "vramfit.standin": package / "standin"}.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(place)]
    checkpoints = importlib.import_module("vramfit.standin._made_checkpoints").MadeCheckpoints
    told = Path(folder) / "config"
    told.mkdir()
    (told / "config.json").write_text(json.dumps(config))
    hollows = types.SimpleNamespace(peak=0)  # of the stand-in's, of which there is none here
    place = checkpoints(hollows, Path(folder) / "made").of_transformers(
        str(told), {}, trusted=False
    )
    shutil.copy(told / "config.json", place)
    return place


def measured(case):
    def reading():
        cuda = torch.cuda
        return [cuda.memory_allocated(), cuda.max_memory_allocated(), cuda.memory_reserved()]

    how = {}
    if case["dequantize"]:
        method = case["config"]["quantization_config"]["quant_method"]
        kinds = {"fp8": transformers.FineGrainedFP8Config}
        kind = kinds.get(method, transformers.CompressedTensorsConfig)
        how["quantization_config"] = kind(dequantize=True)
    with tempfile.TemporaryDirectory() as folder:
        place = made(folder, case["config"])
        torch.zeros(1, device="cuda")
        try:
            model = transformers.AutoModelForCausalLM.from_pretrained(
                place, device_map="cuda", **how
            )
        except RuntimeError as error:
            return {"load": str(error)[:120]}
        result = {"load": reading()}
        try:
            with torch.no_grad():
                kept = model(torch.ones(1, 64, dtype=torch.long, device="cuda"))
            result["forward"] = reading()
            del kept
        except ImportError as error:
            result["forward"] = str(error)[:120]
        return result


def environment():
    packages = ("torch", "transformers", "accelerate", "compressed-tensors", "bitsandbytes")
    line = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    card = subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()
    return {**{name: version(name) for name in packages}, "smi": card.splitlines()[0]}


if __name__ == "__main__":
    if len(sys.argv) == 3:  # one case, in a process of its own
        print("ROW " + json.dumps(measured(json.loads(sys.argv[2]))))
        sys.exit()
    os.environ["HF_DEACTIVATE_ASYNC_LOAD"] = "1"
    with Path(sys.argv[1]).open("w") as out:
        out.write(json.dumps({"env": environment()}) + "\n")
        for one in cases():
            line = [sys.executable, __file__, "-", json.dumps(one)]
            ran = subprocess.run(line, capture_output=True, text=True, check=False)
            rows = [row for row in ran.stdout.splitlines() if row.startswith("ROW ")]
            assert rows, ran.stderr[-2000:]
            out.write(json.dumps({"case": one, "result": json.loads(rows[0][4:])}) + "\n")
            out.flush()
