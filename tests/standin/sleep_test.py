"""An engine beside a trainer that gives its memory back while it sleeps: vLLM's names, and none of
its code. PyTorch's allocator is told nothing of it."""

import pytest
from stood_in import needs_torch

pytestmark = needs_torch

GIB = 1 << 30

_CUMEM = """
def unmap_and_release(handle): ...
def create_and_map(handle): ...
"""
_WORKER = """
from vllm.device_allocator import cumem
class Worker:
    def __init__(self, *tensors):
        self.handles = [(0, tensor.nbytes, tensor.data_ptr(), 0) for tensor in tensors]
    def init_device(self): ...
    def determine_available_memory(self): ...
    def initialize_from_config(self): ...
    def compile_or_warm_up_model(self): ...
    def execute_model(self, scheduled=None): ...
    def sleep(self):
        for handle in self.handles:
            cumem.unmap_and_release(handle)
    def wake_up(self):
        for handle in self.handles:
            cumem.create_and_map(handle)
"""
_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import vllm.device_allocator.cumem
from vllm.v1.worker.gpu_worker import Worker
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    cache = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
engine = Worker(cache)
engine.sleep()
model = torch.nn.Linear(4096, 4096, device="cuda")
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(6):
    engine.wake_up()
    engine.sleep()
    model(torch.ones(8, 4096, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.fixture
def ran(run, tmp_path):
    package = tmp_path / "package"
    for module, text in {
        "vllm/__init__.py": "__version__ = '0.26.0'",
        "vllm/device_allocator/__init__.py": "",
        "vllm/device_allocator/cumem.py": _CUMEM,
        "vllm/v1/__init__.py": "",
        "vllm/v1/worker/__init__.py": "",
        "vllm/v1/worker/gpu_worker.py": _WORKER,
    }.items():
        file = package / module
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    ran = run(_SCRIPT, after=(str(package),))
    assert ran.returncode == 0, ran.stderr
    return ran


def test_memory_of_an_engine_that_sleeps_is_not_counted(ran):
    """Nothing of the fake's is given back to the card; what PyTorch counts is what is told."""
    first = {stage["name"]: stage for stage in ran.answer["stages"] if stage["step"] <= 1}
    assert list(first)[:3] == ["load", "sleep", "wake_up"]
    weights = 4 * (4096 * 4096 + 4096)
    assert first["load"]["after"] == GIB
    assert first["sleep"]["peak"] == first["wake_up"]["after"]  # it fell asleep twice
    assert weights <= first["sleep"]["after"] < weights + (1 << 20)
    assert GIB + weights <= first["wake_up"]["after"] < GIB + weights + (1 << 20)
    for name in ("forward", "backward", "optimizer"):
        assert first[name]["peak"] < GIB, name
        assert first[name]["peak_reserved"] < GIB, name


def test_an_engines_stages_are_of_the_step_that_comes(ran):
    names = [stage["name"] for stage in ran.answer["stages"] if stage["step"] == 3]
    assert names == ["wake_up", "sleep", "forward", "backward", "optimizer"]
    assert ran.answer["steps"] == 3
    assert ran.answer["ended"] == "steady"


def test_its_peak_is_where_it_is_awake(ran):
    assert ran.answer["peak"]["stage"] in ("wake_up", "sleep")
    held = sum(holder["bytes"] for holder in ran.answer["holders"])
    assert GIB <= held <= ran.answer["levels"]["allocated"]
