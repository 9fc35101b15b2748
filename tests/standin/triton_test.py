"""Triton on the stand-in: kernels are compiled, and launched into nothing."""

import shutil

import pytest
from stood_in import EXACT, needs_torch, play

pytestmark = [
    needs_torch,
    pytest.mark.skipif(shutil.which("cc") is None, reason="Triton needs a C compiler"),
]


def test_a_kernel_is_launched(tmp_path):
    kernel = tmp_path / "kernel.py"  # Triton reads a kernel's source from its file
    kernel.write_text("""
import torch, triton, triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)

def run():
    x = torch.ones(100_000, device="cuda")
    out = torch.empty_like(x)
    add[(100_000 // 1024 + 1,)](x, x, out, x.numel(), BLOCK=1024)
    torch.cuda.synchronize()
    return out.shape[0]
""")
    script = f"""
sys.path.insert(0, {str(tmp_path)!r})
import kernel, torch
rows = kernel.run()
print(json.dumps([rows, torch.cuda.memory_allocated(), standin.door().report()["unknown_calls"]]))
"""
    cache = str(tmp_path / "cache")
    rows, allocated, unknown = play(script, TRITON_CACHE_DIR=cache)
    assert rows == 100_000
    assert allocated == 0
    assert unknown == []
    assert list((tmp_path / "cache").rglob("add.cubin"))


def test_a_compiled_model_trains(tmp_path):
    script = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256))
model = torch.compile(model.cuda())
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for _ in range(2):
    model(torch.ones(64, 256, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
from torch._dynamo.utils import counters
graphs = counters["stats"]["unique_graphs"]
unknown = standin.door().report()["unknown_calls"]
print(json.dumps([graphs, torch.cuda.max_memory_allocated(), unknown]))
"""
    cache = str(tmp_path / "cache")
    graphs, peak, unknown = play(script, TRITON_CACHE_DIR=cache, TORCHINDUCTOR_CACHE_DIR=cache)
    weights = 4 * (2 * 256 * 1024 + 1024 + 256)
    assert graphs == 1  # and it did not run eager
    assert peak > 4 * weights
    assert unknown == []


def test_without_a_compiler_it_says_so(tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    script = """
import torch
try:
    torch.compile(lambda x: x.exp() + 1)(torch.ones(1000, device="cuda"))
except Exception as error:
    print(json.dumps(str(error)))
"""
    empty = str(tmp_path)
    said = play(
        script, python=EXACT, PATH=empty, TRITON_CACHE_DIR=empty, TORCHINDUCTOR_CACHE_DIR=empty
    )
    assert "Failed to find C compiler" in said  # which vramfit run has a line of its own for
