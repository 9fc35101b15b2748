"""Weights in the host's memory: nothing is computed, committed or written, all is counted."""

from stood_in import needs_torch, play

BEGIN = """
import time, torch
from vramfit.standin import _values
torch.manual_seed(0)

def committed():
    with open("/proc/self/status") as status:
        return next(int(l.split()[1]) << 10 for l in status if l.startswith("RssAnon"))

def tell(*values):
    print(json.dumps(values))
"""

pytestmark = needs_torch


def test_a_model_of_the_host_costs_neither_time_nor_memory():
    script = """
before, start = committed(), time.process_time()
layers = [torch.nn.Linear(8192, 8192) for _ in range(24)]  # 6.4 GB
torch.nn.init.trunc_normal_(layers[0].weight, std=0.02)
torch.nn.init.zeros_(layers[1].weight)
model = torch.nn.Sequential(*layers).half().cuda()
hollow = _values.host()["hollow"]
back = {name: value.cpu() for name, value in model.state_dict().items()}
tell(committed() - before, time.process_time() - start, hollow, torch.cuda.memory_allocated(),
     _values._values.hollows.bytes)
"""
    committed, seconds, hollow, allocated, left = play(BEGIN + script)
    weights = 24 * 8192 * 8192 * 4
    assert committed < 128 << 20  # what torch.cuda itself takes is a half of it
    assert seconds < 10
    assert weights <= hollow <= weights + 8192 * 8192 * 2  # a layer is converted at a time
    assert allocated == 24 * (8192 * 8192 * 2 + 8192 * 2)
    assert left == 24 * 8192 * 8192 * 2


def test_small_tensors_are_what_they_are():
    script = """
bias = torch.nn.Linear(16, 1000).bias
ones = torch.ones(1000, 1000).tril()
counts = torch.randint(0, 5, (2000, 2000))
tell(bool(bias.std() > 0), float(ones.sum()), int(counts.max()), _values.host()["hollow"])
"""
    assert play(BEGIN + script) == [True, 500500, 4, 0]


def test_optimizers_of_the_host_leave_their_states_alone():
    script = """
weight = torch.nn.Parameter(torch.empty(4096, 8192).normal_())
optimizer = torch.optim.AdamW([weight], foreach=True)
before = committed()
weight.grad = torch.empty(4096, 8192, device="cuda").cpu()
optimizer.step()
tell(committed() - before, _values.host()["hollow"] // weight.nbytes)
"""
    committed, tensors = play(BEGIN + script)
    assert committed < 100 << 20
    assert tensors >= 4


def test_meta_tensors_stay_so():
    script = """
with torch.device("meta"):
    linear = torch.nn.Linear(4096, 4096)
    drawn = torch.randn(4096, 4096)
tell(linear.weight.is_meta, drawn.is_meta, _values.host()["hollow"])
"""
    assert play(BEGIN + script) == [True, True, 0]


def test_weights_of_a_gpu_have_no_values_here():
    script = """
weights = [torch.nn.Parameter(torch.empty(256, 1024, device="cuda")) for _ in range(256)]
before = committed()
for weight in weights:
    torch.nn.init.normal_(weight)
optimizer = torch.optim.AdamW(weights)
sum(weight.sum() for weight in weights).backward()
optimizer.step()
mask = torch.zeros(8, 4096, device="cuda")
mask[:, :100] = 1
tell(committed() - before, int(mask.sum()))
"""
    grown, known = play(BEGIN + script)
    assert grown < 128 << 20  # of 256 MiB, and twice as much for their states
    assert known == 800
