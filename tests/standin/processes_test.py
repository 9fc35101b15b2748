"""vramfit run of scripts with processes and threads of their own, however these are started."""

import pytest
from stood_in import needs_torch

pytestmark = needs_torch

METHODS = ("fork", "spawn", "forkserver")

# A spawned process imports the script: what trains is under its name.
LOADER = """
import torch
from torch.utils.data import DataLoader

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, row):
        return torch.full((32,), row % 100)

def train():
    data = DataLoader(
        Rows(), batch_size=4, num_workers=2, multiprocessing_context={method!r}, pin_memory=True
    )
    model = torch.nn.Sequential(torch.nn.Embedding(100, 256), torch.nn.Linear(256, 100)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for ids in data:
        model(ids.cuda(non_blocking=True)).float().logsumexp(-1).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

if __name__ == "__main__":
    train()
"""


def test_how_a_loaders_workers_are_started_makes_no_difference(run_forked):
    answers = []
    for method in METHODS:
        ran = run_forked(LOADER.format(method=method))
        assert ran.returncode == 0, ran.stderr
        answers.append(ran.answer)
    first = answers[0]
    assert (first["ended"], first["processes"]) == ("steady", 1)
    for other in answers[1:]:
        for key in ("levels", "stages", "processes", "ended", "batches"):
            assert other[key] == first[key]


def test_a_loaders_workers_that_come_to_their_end_tell_nothing(run_forked):
    """Forked after CUDA began, they can have none."""
    ran = run_forked(
        """
import os, pathlib, torch
held = torch.ones(3, device="cuda")
rows = torch.utils.data.DataLoader(range(64), num_workers=2)
assert sum(map(len, rows)) == 64
told = pathlib.Path(os.environ["VRAMFIT_RUN"]).parent.glob("[0-9]*.json")
assert not list(told)
"""
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.answer["processes"] == 1


# What a process puts on the GPU by itself.
HOLDS = """
import multiprocessing, torch

def hold(size, done=None):
    held = torch.empty(size << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() == size << 20
    if done is not None:
        done.put(held.numel())

if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    done = context.Queue()
    child = context.Process(target=hold, args=(512, done))
    child.start()
    assert done.get() == 512 << 20
    child.join()
    assert child.exitcode == 0
    hold(64)
"""


@pytest.mark.parametrize("method", METHODS)
def test_the_process_that_used_most_is_told(run_forked, method):
    ran = run_forked(HOLDS.format(method=method))
    assert ran.returncode == 0, ran.stderr
    assert ran.answer["processes"] == 2
    assert ran.answer["levels"]["allocated"] == 512 << 20


def test_what_pytorch_refuses_after_a_fork_it_refuses_here(run):
    ran = run(
        """
import os, torch
torch.ones(3, device="cuda")
if os.fork() == 0:
    torch.ones(3, device="cuda")
os.wait()
"""
    )
    assert "Cannot re-initialize CUDA in forked subprocess" in ran.stderr
    assert ran.answer["processes"] == 1


def test_threads_share_a_gpu(run_forked):
    ran = run_forked(
        """
import threading, torch
model = torch.nn.Linear(1024, 1024).cuda()
outputs = [None] * 4

def forward(at):
    outputs[at] = model(torch.ones(256, 1024, device="cuda"))

threads = [threading.Thread(target=forward, args=(at,)) for at in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sum(output.sum() for output in outputs).backward()
assert model.weight.grad is not None
"""
    )
    assert ran.returncode == 0, ran.stderr
    held = {each["component"] for each in ran.answer["holders"]}
    assert {"parameters", "activations"} <= held
    lines = {each["line"].split("train.py:")[-1] for each in ran.answer["holders"]}
    assert "7" in lines
