"""Checkpoints hold no numbers and no room, can be read back, and are not left behind."""

import os

import pytest
from stood_in import EXACT, needs_torch, play

EARLY = """
from os import remove as early_remove
from shutil import rmtree as early_rmtree
"""
BEGIN = """
import os, shutil, tempfile, torch
from pathlib import Path
from vramfit.standin import _values
from safetensors.torch import load_file, save_file
place = Path(os.environ["PLACE"])
on_disk = lambda file: file.stat().st_blocks * 512

def tell(*values):
    print(json.dumps(values))
"""

pytestmark = needs_torch

OLD = b"a week's work"


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
        (folder / name).write_bytes(OLD)
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
    assert all(file.read_bytes() == OLD for file in folder.iterdir())


@pytest.mark.parametrize(
    "replaces",
    [
        "torch.save(weights, new); os.replace(new, old)",
        "torch.save(weights, new); os.rename(new, old)",
        "torch.save(weights, new); shutil.move(new, old)",
        "torch.save(weights, new); shutil.copy(new, old)",
        "torch.save(weights, new); new.replace(old)",
        "torch.save(weights, open(old, 'wb'))",
        "old.unlink(); torch.save(weights, old)",
        "os.remove(old); save_file(weights, old)",
        "os.rename(old, place / 'elsewhere'); torch.save(weights, old)",
        "shutil.rmtree(place); os.makedirs(place); torch.save(weights, old)",
        "early_rmtree(place); torch.save(weights, old)",
        "early_remove(old); torch.save(weights, old)",
        "torch.save(weights, new); os.replace(src=os.fsencode(new), dst=os.fsencode(old))",
        "os.link(old, new); torch.save(weights, new)",
        "with open(old, 'wb') as f: torch.save(weights, f); f.flush(); os.fsync(f.fileno())",
        "with tempfile.NamedTemporaryFile(dir=place, delete=False) as f: torch.save(weights, f)\n"
        "os.replace(f.name, old)",
        "os.chdir(place / '..'); torch.save(weights, old)",
        "import torch.distributed.checkpoint as dcp; os.remove(old); (place / 'dcp').mkdir(); "
        "dcp.save(weights, checkpoint_id=place / 'dcp')",
    ],
)
def test_what_was_there_before_stays_however_it_is_replaced(tmp_path, replaces):
    (tmp_path / "last.pt").write_bytes(OLD)
    script = f"""
old, new = place / "last.pt", place / "new.pt"
weights = {{"weight": torch.empty(2000, 2000, device="cuda")}}
{replaces}
from vramfit.standin._session import checkpoints
tell(checkpoints()["kept"])
"""
    python = EXACT if "early_" in replaces else None
    kept = play(EARLY + BEGIN + script, python=python, PLACE=str(tmp_path))[0]
    assert kept and {*kept} <= {str(tmp_path), *(str(tmp_path / f) for f in ("last.pt", "new.pt"))}
    left = {file.name: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert left.pop("last.pt") == OLD
    assert left in ({}, {"new.pt": OLD})


def test_what_is_moved_into_the_runs_folders_stays(tmp_path):
    (tmp_path / "mine").mkdir()
    for name in ("m.pt", "notes.txt"):
        (tmp_path / "mine" / name).write_bytes(OLD)
        os.utime(tmp_path / "mine" / name, (1, 1))
    script = """
(place / "out").mkdir()
shutil.move(place / "mine", place / "out" / "mine")
(place / "out" / "config.json").write_text("{}")
torch.save({"weight": torch.empty(2000, 2000, device="cuda")}, place / "out" / "model.pt")
tell(sorted(os.listdir(place / "out")))
"""
    assert play(BEGIN + script, PLACE=str(tmp_path)) == [["config.json", "mine", "model.pt"]]
    left = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    assert left == {"out/mine/m.pt", "out/mine/notes.txt", "out/config.json"}


def test_files_that_the_script_writes_to_itself_go_too(tmp_path):
    script = """
import io
weights = {"weight": torch.empty(2000, 2000, device="cuda")}
torch.save(weights, buffer := io.BytesIO())
with open(place / "fresh.ckpt", "wb") as file:
    file.write(buffer.getvalue())
(place / "dcp").mkdir()
import torch.distributed.checkpoint
torch.distributed.checkpoint.save(weights, checkpoint_id=place / "dcp")
tell(sorted(os.listdir(place)))
"""
    assert play(BEGIN + script, PLACE=str(tmp_path)) == [["dcp", "fresh.ckpt"]]
    assert list(tmp_path.iterdir()) == []


def test_what_the_run_made_it_may_move_and_remove(tmp_path):
    script = """
weights = {"weight": torch.empty(2000, 2000, device="cuda")}
for step in range(3):
    (place / f"tmp-{step}").mkdir()
    torch.save(weights, place / f"tmp-{step}" / "model.pt")
    os.rename(place / f"tmp-{step}", place / f"step-{step}")
    if step:
        shutil.rmtree(place / f"step-{step - 1}")
shutil.copytree(place / "step-2", place / "best")
tell(sorted(os.listdir(place)), list(torch.load(place / "best" / "model.pt")["weight"].shape))
"""
    assert play(BEGIN + script, PLACE=str(tmp_path)) == [["best", "step-2"], [2000, 2000]]
    assert not list(tmp_path.rglob("*.pt"))


def test_the_format_before_has_holes_too(tmp_path):
    script = """
weights = {"weight": torch.empty(2000, 2000, device="cuda")}
torch.save(weights, place / "a.pt", _use_new_zipfile_serialization=False)
tell(on_disk(place / "a.pt"), list(torch.load(place / "a.pt")["weight"].shape))
"""
    disk, shape = play(BEGIN + script, PLACE=str(tmp_path))
    assert (disk <= 64 << 10, shape) == (True, [2000, 2000])


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
