"""Checkpoints hold no numbers and no room, can be read back, and are not left behind."""

import os

import pytest
from stood_in import needs_torch, play

BEGIN = """
import os, shutil, torch
from pathlib import Path
from vramfit.standin import _values
from safetensors.torch import load_file, save_file
place = Path(os.environ["PLACE"])
on_disk = lambda file: file.stat().st_blocks * 512

def tell(*values):
    print(json.dumps(values))
"""

pytestmark = needs_torch


@pytest.mark.parametrize("safe", [False, True])
def test_weights_of_a_gpu_are_holes_in_a_file(tmp_path, safe):
    save, load = ("save_file", "load_file") if safe else ("torch.save", "torch.load")
    script = f"""
file = place / "weights"
weights = {{
    "weight": torch.empty(40000, 40000, device="cuda"),  # 6.4 GB
    "medium": torch.empty(1024, 1024, device="cuda", dtype=torch.bfloat16),
    "small": torch.tensor([1.0, 2.0, 3.0], device="cuda"),
}}
{save}(weights, file)
read = {load}(file)
with open("/proc/self/status") as status:
    committed = next(int(l.split()[1]) << 10 for l in status if l.startswith("RssAnon"))
tell(file.stat().st_size, on_disk(file), {{name: list(t.shape) for name, t in read.items()}},
     read["small"].tolist(), weights["small"].tolist(), committed, _values.assumptions())
"""
    size, disk, shapes, small, kept, committed, assumed = play(BEGIN + script, PLACE=str(tmp_path))
    weights = 4 * 40000**2 + 2 * 1024**2
    assert weights <= size <= weights + 8192
    assert disk <= 64 << 10
    assert shapes == {"weight": [40000, 40000], "medium": [1024, 1024], "small": [3]}
    assert small == kept == [1, 2, 3]
    assert assumed == []
    assert committed < 1 << 30
    assert list(tmp_path.iterdir()) == []


def test_real_tensors_of_the_host_are_written(tmp_path):
    script = """
steps = torch.arange(1 << 20)
torch.save({"steps": steps}, place / "steps.pt")
save_file({"steps": steps}, place / "steps.safetensors")
tell(int(torch.load(place / "steps.pt")["steps"][-1]),
     int(load_file(place / "steps.safetensors")["steps"][-1]))
"""
    assert play(BEGIN + script, PLACE=str(tmp_path)) == [(1 << 20) - 1] * 2
    assert {file.name for file in tmp_path.iterdir()} == {"steps.pt", "steps.safetensors"}


def test_small_weights_are_gone_too(tmp_path):
    script = """
torch.save({"bias": torch.zeros(100, device="cuda")}, place / "bias.pt")
save_file({"bias": torch.zeros(100, device="cuda")}, place / "bias.safetensors")
tell(len(os.listdir(place)))
"""
    assert play(BEGIN + script, PLACE=str(tmp_path)) == [2]
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_before_stays(tmp_path):
    folder = tmp_path / "checkpoint-1"
    folder.mkdir()
    for name in ("a.pt", "model.safetensors"):
        (folder / name).write_bytes(b"a week's work")
    script = """
weights = {"weight": torch.empty(2000, 2000, device="cuda")}
torch.save(weights, place / "checkpoint-1" / "a.pt")
save_file(weights, place / "checkpoint-1" / "model.safetensors")
(place / "checkpoint-2").mkdir()
torch.save(weights, place / "checkpoint-2" / "a.pt")
torch.save(weights, place / "checkpoint-2" / "a.pt")
shutil.rmtree(place / "checkpoint-2")
shutil.rmtree(place / "checkpoint-1", ignore_errors=True)
from vramfit.standin._session import checkpoints
tell(sorted(os.listdir(place)), checkpoints()["kept"])
"""
    left, kept = play(BEGIN + script, PLACE=str(tmp_path))
    assert left == ["checkpoint-1"]
    assert kept == [str(folder / "a.pt"), str(folder / "model.safetensors"), str(folder)]
    assert all(file.read_bytes() == b"a week's work" for file in folder.iterdir())


def test_a_forked_process_leaves_its_files_to_the_first(tmp_path):
    script = """
if (child := os.fork()) == 0:
    torch.save({"weight": torch.empty(2000, 2000, device="cuda")}, place / "a.pt")
    os._exit(0)
os.waitpid(child, 0)
tell(list(torch.load(place / "a.pt")["weight"].shape))
"""
    assert play(BEGIN + script, PLACE=str(tmp_path)) == [[2000, 2000]]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_new", [False, True])
def test_a_models_folder_is_left_as_it_was(tmp_path, is_new):
    model = tmp_path / "model"
    if not is_new:
        model.mkdir()
        (model / "notes.txt").write_text("mine")
        os.utime(model / "notes.txt", (1, 1))
    script = """
from transformers import LlamaConfig, LlamaForCausalLM
config = LlamaConfig(hidden_size=1024, intermediate_size=2048, num_hidden_layers=2, vocab_size=9000)
LlamaForCausalLM(config).bfloat16().save_pretrained(place / "model")
model = LlamaForCausalLM.from_pretrained(place / "model", device_map="cuda")
tell((place / "model" / "model.safetensors").exists(), torch.cuda.memory_allocated())
"""
    written, allocated = play(BEGIN + script, PLACE=str(tmp_path))
    assert written
    assert allocated >= 2 * (2 * 9000 * 1024 + 2 * (4 * 1024**2 + 3 * 1024 * 2048))
    assert not (model / "model.safetensors").exists()
    assert model.exists() is not is_new
