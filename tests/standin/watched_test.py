"""vramfit run as people use it: whole scripts, with torch, on a GPU that is not there."""

import json
import os
import pickle
import subprocess

import pytest
from stood_in import EXACT, PACKAGE, needs_torch

pytestmark = needs_torch

TRAINING = """
import sys, torch
from torch.utils.data import DataLoader
rows = [torch.ones(length, dtype=torch.long) for length in range(8, 72)] * 4
pad = lambda some: torch.nn.utils.rnn.pad_sequence(some, batch_first=True)
data = DataLoader(rows, batch_size=4, shuffle=True, collate_fn=pad, num_workers={workers})
model = torch.nn.Sequential(torch.nn.Embedding(1000, 256), torch.nn.Linear(256, 1000)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for ids in data:
    loss = model(ids.cuda()).float().logsumexp(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", loss.item())
print("the end")
"""


def lengths(ran) -> list[int]:
    return [batch[1] for batch in ran.answer["batches"]]


@pytest.mark.parametrize("workers", [0, 2])
def test_training_ends_where_nothing_grows(run, workers):
    ran = run(TRAINING.format(workers=workers))
    assert ran.returncode == 0, ran.stderr
    assert (ran.answer["ended"], ran.answer["verdict"]) == ("steady", "FITS")
    assert "the end" not in ran.stderr
    stages = [(stage["step"], stage["name"]) for stage in ran.answer["stages"]]
    assert stages[:4] == [(0, "load"), (1, "forward"), (1, "backward"), (1, "optimizer")]
    parameters = 4 * (1000 * 256 + 256 * 1000 + 1000)
    assert ran.answer["stages"][0]["after"] == pytest.approx(parameters, rel=0.01)
    # With two states in fp32.
    assert ran.answer["stages"][3]["after"] >= 3 * parameters
    assert ran.answer["unknown_calls"] == []


def test_as_many_steps_as_were_asked_for(run_forked):
    ran = run_forked(TRAINING.format(workers=0), "--steps", 2)
    assert (ran.answer["steps"], ran.answer["ended"]) == (2, "steps")


def test_the_longest_batch_first(run_forked):
    ran = run_forked(TRAINING.format(workers=0), "--longest", "--steps", 2)
    assert lengths(ran) == [71]
    assert "4 rows, the longest of 71 tokens" in ran.answer["longest"][0]
    assert "longer ones" not in str(ran.answer["notes"])
    assert "longer ones" in str(run_forked(TRAINING.format(workers=0)).answer["notes"])


def test_the_longest_of_a_sampler_without_an_end(run_forked):
    ran = run_forked(
        """
import itertools, torch
from torch.utils.data import DataLoader

class Endless(torch.utils.data.Sampler):
    def __iter__(self):
        return itertools.cycle(range(8))

rows = [torch.ones(length, dtype=torch.long) for length in range(8, 16)]
data = DataLoader(rows, sampler=Endless(), collate_fn=torch.stack)
assert len(next(iter(data))[0]) == 15
torch.ones(3, device="cuda")
""",
        "--longest",
    )
    assert ran.returncode == 0, ran.stderr
    assert "the longest of 15 tokens" in ran.answer["longest"][0]


def test_the_longest_first_draws_no_random_numbers_of_the_script(run_forked):
    script = """
import torch
from torch.utils.data import DataLoader
torch.manual_seed(7)
torch.ones(3, device="cuda")
rows = [torch.ones(8, dtype=torch.long) for _ in range(8)]
next(iter(DataLoader(rows, shuffle=True)))
print("drawn", torch.rand(3).tolist())
"""
    assert "drawn" in run_forked(script).stderr
    assert run_forked(script, "--longest").stderr == run_forked(script).stderr


def test_a_script_that_catches_running_out(run_forked):
    caught = """
import sys, torch
try:
    torch.empty(1 << 40, device="cuda")
except torch.cuda.OutOfMemoryError:
    {then}
sys.exit(3)
"""
    gives_up = run_forked(caught.format(then="pass"))
    assert (gives_up.returncode, gives_up.answer["ended"]) == (1, "memory")
    goes_on = caught.format(then="torch.nn.Linear(8, 8).cuda()(torch.ones(8, device='cuda'))")
    goes_on = run_forked(goes_on)
    assert (goes_on.returncode, goes_on.answer["ended"]) == (3, "failed")
    assert len(goes_on.answer["out_of_memory_caught"]) == 1


def test_threads_with_a_run_of_their_own(run_forked):
    ran = run_forked(
        """
import threading, torch

class Reads(threading.Thread):
    def run(self):
        self.read = torch.ones(3, device="cuda").sum().item()

thread = Reads()
thread.start()
thread.join()
assert thread.read == 3, thread.read
"""
    )
    assert ran.returncode == 0, ran.stderr


def test_a_script_that_runs_out(run_forked):
    ran = run_forked("import torch\nx = [torch.empty(1 << 30, device='cuda') for _ in range(99)]\n")
    assert ran.returncode == 1
    assert ran.answer["ended"] == "memory"
    assert ran.answer["out_of_memory"]["line"] == "train.py:2"
    assert ran.answer["out_of_memory"]["requested"] == 4 << 30
    assert ran.answer["levels"]["allocated"] % (4 << 30) == 0
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB" in ran.stderr


def test_its_traceback_has_no_frame_of_ours(run):
    script = """
import atexit, sys
atexit.register(lambda: print("Inductor:", "torch._inductor" in sys.modules))
import torch
x = torch.zeros(4, device="cuda")
x + torch.zeros(5, device="cuda")
"""
    ran = run(script)
    assert ran.returncode == 3
    files = [line for line in ran.stderr.splitlines() if line.startswith("  File ")]
    assert len(files) == 1, ran.stderr
    assert 'train.py", line 6' in files[0]
    # Nothing was compiled: by PyTorch's C++ it would be imported for a stack.
    assert "Inductor: False" in ran.stderr


def test_a_script_that_catches_it(run_forked):
    ran = run_forked(
        """
import torch
model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.SGD(model.parameters())
batch = 1 << 24
while True:
    try:
        for _ in range(3):
            model(torch.ones(batch, 4096, device="cuda")).sum().backward()
            optimizer.step()
        break
    except torch.OutOfMemoryError:
        batch //= 2
"""
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.answer["out_of_memory"] is None
    assert len(ran.answer["out_of_memory_caught"]) > 2
    assert ran.answer["levels"]["device_used"] <= ran.answer["vram"]
    load, forward = ran.answer["stages"][:2]
    assert load["after"] == load["peak"] == forward["before"]
    assert forward["after"] < 2 * load["after"], "its input is that of the batch that went well"
    held = ran.answer["holders"]
    assert any(each["component"] == "parameters" for each in held)
    assert sum(each["bytes"] for each in held) <= ran.answer["levels"]["allocated"]


def test_libraries_that_are_loaded_beyond_the_card(run_forked):
    script = "import torch\ntorch.ones(1, device='cuda')\n"
    total = run_forked(script, "--vram", "24GiB", gpu=None).answer["total"]
    ran = run_forked(script, "--vram", str(total - (20 << 20)), gpu=None)
    assert ran.returncode == 1
    assert (ran.answer["ended"], ran.answer["fits"]) == ("script", False)
    assert ran.answer["total"] == total


def test_a_context_that_does_not_fit(run_forked):
    ran = run_forked("import torch\ntorch.ones(1, device='cuda')\n", "--vram", "700MB", gpu=None)
    assert ran.returncode == 1
    assert ran.answer["ended"] == "memory"
    assert ran.answer["margin"] == 700_000_000 - ran.answer["total"]


def test_a_script_that_waits_for_a_value(run_forked):
    ran = run_forked(
        """
import torch
x = torch.ones(2048, 2048, device="cuda")
y = (x @ x).sum()
while y.item() != 3.5: pass
"""
    )
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert "train.py:5 has read" in ran.stderr.splitlines()[-1]


def test_a_script_that_needs_no_gpu(run_forked):
    ran = run_forked("import torch\ntorch.ones(3).sum()\n")
    assert ran.returncode == 2
    assert "put nothing on a GPU" in ran.stderr


@pytest.mark.parametrize(
    ("variable", "seen"), [(None, 2), ("1", 1), ("1,0", 2), ("0,5", 1), ("", 0)]
)
def test_cuda_visible_devices_is_heeded(run_forked, variable, seen):
    sets = "" if variable is None else f"os.environ['CUDA_VISIBLE_DEVICES'] = {variable!r}"
    script = f"""
import json, os, torch
{sets}
print(json.dumps([torch.cuda.device_count(), torch.cuda.is_available()]))
for i in range(torch.cuda.device_count()):
    torch.ones(1 << 20, device=i)
"""
    ran = run_forked(script, "--gpus", "2")
    assert f"[{seen}, {'true' if seen else 'false'}]" in ran.stderr
    if seen:
        assert len(ran.answer["gpus"]) == seen
    else:
        assert "put nothing on a GPU" in ran.stderr


def test_a_late_gpu_is_the_other_end(run_forked):
    script = """
import torch
stream = torch.cuda.Stream()
for _ in range(4):
    x = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    x.record_stream(stream)
    del x
"""
    ran = run_forked(script, "--band")
    assert ran.answer["doubtful_events"] > 0
    assert ran.answer["levels"]["reserved"] == 256 << 20
    assert ran.answer["levels_of_late_gpu"]["reserved"] == 1024 << 20


def test_records(run_forked, tmp_path):
    snapshot, trace = tmp_path / "run.pickle", tmp_path / "trace.json"
    ran = run_forked(TRAINING.format(workers=0), "--snapshot", snapshot, "--trace", trace)
    taken = pickle.loads(snapshot.read_bytes())
    reserved = sum(segment["total_size"] for segment in taken["segments"])
    assert reserved == ran.answer["stages"][-1]["reserved"]
    assert any(frame for entry in taken["device_traces"][0] for frame in entry["frames"])
    events = json.loads(trace.read_text())["traceEvents"]
    assert {"load", "forward", "backward", "optimizer"} <= {event["name"] for event in events}
    most = max(event["args"]["bytes"] for event in events if event["name"] == "allocated")
    # What tensors asked for: a block may be larger, by what was not worth splitting off.
    assert most == pytest.approx(ran.answer["levels"]["allocated"], rel=0.05)


def test_pushes_are_off(run):
    ran = run(
        """
from huggingface_hub import HfApi, create_branch, create_repo, upload_file
hub = HfApi()
print(create_repo("someone/something").repo_id)
print(create_repo("something").repo_id)
print(hub.upload_file(path_or_fileobj=b"x", path_in_repo="x", repo_id="someone/something"))
later = hub.upload_folder(folder_path=".", repo_id="someone/something", run_as_future=True)
assert later.result().oid == "0" * 40
assert create_branch("someone/something", branch="b") is hub.delete_repo("someone/something")
import torch
torch.ones(3, device="cuda")
""".replace("from hugging", "import torch\nfrom hugging")
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.startswith(
        "someone/something\nnobody/something\nhttps://huggingface.co/someone/something/"
    )


def test_a_notebook():
    script = """
import json
import vramfit.standin
run = vramfit.standin.start(gpu="h100-80gb")
import torch
x = torch.empty(1 << 28, device="cuda")
assert "FITS" in repr(run)
try:
    torch.empty(1 << 38, device="cuda")
except torch.OutOfMemoryError:
    pass
print(json.dumps(run.to_dict()))
"""
    try:
        import_core = [EXACT, "-c", "import vramfit._core"]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        subprocess.run(import_core, env=environment, check=True, capture_output=True)
    except subprocess.CalledProcessError:
        pytest.skip("vramfit is built for another Python than the one that has torch")
    ran = subprocess.run(
        [EXACT, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert (answer["ended"], answer["verdict"]) == ("memory", "OOM")
    assert answer["levels"]["allocated"] == 4 << 28
