"""Models of which a config is all that there is: they load as with their weights."""

import json
import subprocess
import sys

from stood_in import EXACT, PACKAGE, ROOT, needs_torch, play

pytestmark = needs_torch

BEGIN = """
import os, torch
from vramfit.standin._session import make_weights
make_weights()
from transformers import AutoModelForCausalLM, AutoTokenizer
folder = os.environ["MODEL"]

def tell(*values):
    print(json.dumps(values))
"""


def measured() -> dict:
    """Of the reference set, a model that was read from its files onto an H200."""
    for line in (ROOT / "data/reference/pytorch_more.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row.get("case", {}).get("pretrained"):
            return row
    raise AssertionError("no such case")


def config(folder, **more):
    told = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps({**told, **more}))
    return str(folder)


def test_it_loads_as_an_h200_was_measured_to(tmp_path):
    row = measured()
    script = """
torch.zeros(1, device="cuda")
model = AutoModelForCausalLM.from_pretrained(folder, device_map="cuda")
tell(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(),
     torch.cuda.memory_reserved(), sum(p.numel() for p in model.parameters()))
"""
    folder = config(tmp_path, **row["case"]["arch"], use_cache=True)
    allocated, peak, reserved, count = play(BEGIN + script, MODEL=folder)
    load = row["result"]["load"]
    assert [allocated, peak, reserved] == [load["alloc"], load["peak"], load["reserved"]]
    assert count == row["result"]["params"]
    assert [file.name for file in tmp_path.iterdir()] == ["config.json"]


def test_experts_are_gathered_as_they_are_read(tmp_path):
    script = """
model = AutoModelForCausalLM.from_pretrained(folder, device_map="cuda")
experts = 2 * 8 * (3 * 1024 * 4096) * 2
tell(torch.cuda.memory_allocated() - experts, torch.cuda.max_memory_allocated() - experts)
"""
    folder = config(
        tmp_path,
        model_type="mixtral",
        architectures=["MixtralForCausalLM"],
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=8,
        num_local_experts=8,
        vocab_size=1000,
    )
    allocated, peak = play(BEGIN + script, MODEL=folder)
    others = 2 * (2 * (4 * 1024**2 + 8 * 1024 + 2 * 1024) + 2 * 1000 * 1024)
    assert others <= allocated < others + (1 << 20)
    assert peak - allocated >= 8 * 4096 * 1024 * 2  # of a layer, before they are one tensor


def test_parts_of_a_pipeline_are_in_folders_of_their_own(tmp_path):
    """As diffusers' training scripts read them, by diffusers and by transformers."""
    unet = {"_class_name": "UNet2DConditionModel", "cross_attention_dim": 64, "sample_size": 16}
    blocks = {"block_out_channels": [32, 64], "down_block_types": ["CrossAttnDownBlock2D"] * 2}
    text = {"model_type": "clip_text_model", "architectures": ["CLIPTextModel"]}
    for name, told in {
        "unet": {**unet, **blocks, "up_block_types": ["CrossAttnUpBlock2D"] * 2},
        "one": {**text, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1},
        "two": {**text, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2},
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(told))
    script = """
from importlib.util import find_spec
from transformers import CLIPTextModel
one, two = (CLIPTextModel.from_pretrained(folder, subfolder=name) for name in ("one", "two"))
sizes = [len(one.state_dict()) < len(two.state_dict())]
if find_spec("diffusers"):
    from diffusers import UNet2DConditionModel
    unet = UNet2DConditionModel.from_pretrained(folder, subfolder="unet", torch_dtype=torch.float16)
    before = torch.cuda.memory_allocated()
    unet.cuda()
    held = sum(-(-tensor.nbytes // 512) * 512 for tensor in unet.state_dict().values())
    sizes.append(torch.cuda.memory_allocated() - before == held > 0)
tell(*sizes)
"""
    assert all(play(BEGIN + script, MODEL=str(tmp_path)))


def test_a_tokenizer_is_not_made(tmp_path):
    script = """
try:
    AutoTokenizer.from_pretrained(folder)
except Exception as error:
    tell(getattr(error, "__notes__", "of an earlier Python"))
"""
    notes = play(BEGIN + script, MODEL=config(tmp_path))[0]
    assert "vramfit: --random-weights makes the weights" in notes[0]


def test_nor_is_one_that_is_asked_for_by_keyword(tmp_path):
    script = """
from transformers import CLIPTokenizer
try:
    CLIPTokenizer.from_pretrained(pretrained_model_name_or_path=folder)
except Exception as error:
    tell(str(error), *getattr(error, "__notes__", ()))
"""
    told = play(BEGIN + script, MODEL=config(tmp_path))
    assert any("--random-weights makes the weights" in line for line in told)


def test_nor_is_a_processor(tmp_path):
    script = """
from transformers import AutoFeatureExtractor, AutoImageProcessor, AutoProcessor
def notes(kind):
    try:
        kind.from_pretrained(folder)
    except Exception as error:
        return getattr(error, "__notes__", "of an earlier Python")
tell([notes(kind)[0] for kind in (AutoFeatureExtractor, AutoImageProcessor, AutoProcessor)])
"""
    folder = config(
        tmp_path, model_type="qwen2_5_vl", architectures=["Qwen2_5_VLForConditionalGeneration"]
    )
    for told in play(BEGIN + script, MODEL=folder)[0]:
        assert "and no processor: its files are to be in the cache" in told


def test_models_that_see_are_made_of_their_config(tmp_path):
    script = """
from transformers import AutoModelForImageTextToText
model = AutoModelForImageTextToText.from_pretrained(folder, device_map="cuda")
tell(type(model).__name__, str(model.dtype), model.model.visual.patch_embed.proj.weight.is_cuda)
"""
    folder = config(
        tmp_path,
        model_type="qwen2_5_vl",
        architectures=["Qwen2_5_VLForConditionalGeneration"],
        vision_config={"depth": 2, "hidden_size": 64, "num_heads": 2, "out_hidden_size": 128},
        text_config={
            "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
            "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 1000,
        },
    )  # fmt: skip
    told = play(BEGIN + script, MODEL=folder)
    assert told == ["Qwen2_5_VLForConditionalGeneration", "torch.bfloat16", True]


def refused(tmp_path, script) -> str:
    file = tmp_path / "script.py"
    file.write_text(script)
    run = subprocess.run(
        [sys.executable, "-m", "vramfit", "run", "--gpu", "rtx4090", "--random-weights", "--",
         EXACT, file],
        capture_output=True, text=True, check=False, cwd=PACKAGE,
    )  # fmt: skip
    assert run.returncode == 2, run.stderr
    return run.stderr


def test_a_tokenizer_without_words_is_refused(tmp_path):
    """Transformers 5 makes it where there is a config alone, and every row would be empty."""
    folder = config(tmp_path, model_type="qwen2", architectures=["Qwen2ForCausalLM"])
    load = f"from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained({folder!r})\n"
    assert "and no tokenizer: its files are to be in the cache" in refused(tmp_path, load)
