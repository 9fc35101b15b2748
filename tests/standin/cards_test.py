"""PyTorch on other cards than the one that was measured chooses what its sources say."""

import json
import shutil

import pytest
from attention_rules import RULES as ATTENTION
from cards import CARDS
from other_rules import RULES as OTHERS
from stood_in import needs_torch, play

pytestmark = needs_torch

RULES = [*OTHERS, *ATTENTION]  # the first products come first
MIB = 1 << 20

BEGIN = """
import gc, torch, torch.nn.functional as F
fp32, half, bf16 = torch.float32, torch.half, torch.bfloat16
door = standin.door()

def new(*sizes, dtype=half, grad=False):
    return torch.empty(*sizes, device="cuda", dtype=dtype, requires_grad=grad)

def asked(which="current"):
    "What PyTorch's allocator was asked for, before it rounds. Bytes."
    return torch.cuda.memory_stats()["requested_bytes.all." + which]

def kept(make):
    before = asked()
    make()
    return asked() - before

def settle():
    "What its last task held, autograd's thread frees before it begins another."
    nothing = new(0, grad=True)
    torch.autograd.grad(nothing * 1, nothing, new(0))

def run(op, *arguments):
    "What it holds at its peak beside arguments and results. Bytes."
    gc.collect()
    settle()
    torch.cuda.reset_peak_memory_stats()
    before = asked()
    out = op(*arguments)
    results = [out] if torch.is_tensor(out) else out
    return asked("peak") - before - sum(part.nbytes for part in results)

mask = new(1, 1, 512, 512)

def heads(dtype, width, grad=False, batch=2, queries=512, keys=512, kv_heads=8):
    "As models have them: of (batch, rows, heads, width) with rows and heads exchanged."
    shapes = ((batch, queries, 8, width),) + ((batch, keys, kv_heads, width),) * 2
    return [new(*shape, dtype=dtype, grad=grad).transpose(1, 2) for shape in shapes]

SHAPE = ("grad", "batch", "queries", "keys", "kv_heads")

def attend(dtype, width, **more):
    shape = {name: more.pop(name) for name in SHAPE if name in more}
    op = lambda *qkv: F.scaled_dot_product_attention(*qkv, **more)
    return run(op, *heads(dtype, width, **shape))

def back(dtype, width, **more):
    qkv = heads(dtype, width, grad=True)
    out = F.scaled_dot_product_attention(*qkv, **more)
    return run(torch.autograd.grad, out, qkv, torch.empty_like(out))

def deterministic(op):
    torch.use_deterministic_algorithms(True)
    try:
        return op()
    finally:
        torch.use_deterministic_algorithms(False)

def grouped(dtype):
    ends = torch.arange(32, 257, 32, device="cuda", dtype=torch.int32)
    return run(lambda *ab: F.grouped_mm(*ab, offs=ends), new(256, 512, dtype=dtype),
               new(8, 512, 512, dtype=dtype))

def fp8():
    a, one = new(64, 64, dtype=torch.float8_e4m3fn), torch.ones((), device="cuda")
    return run(lambda: torch._scaled_mm(a, a.t(), one, one, out_dtype=bf16))

def adamw(**more):
    weight = torch.nn.Parameter(new(1024, 1024, dtype=fp32))
    weight.grad = torch.empty_like(weight)
    optimizer = torch.optim.AdamW([weight], **more)
    optimizer.step()
    return run(lambda: [optimizer.step()][1:])

def experts():
    from transformers.integrations.moe import _can_use_grouped_mm
    ends = torch.arange(32, 257, 32, device="cuda", dtype=torch.int32)
    return _can_use_grouped_mm(new(256, 512), new(8, 512, 512), ends)

def refuse(why):
    raise RuntimeError(why)

def seen(script):
    before = door.kernels()
    try:
        held, refused = eval(script), ""
    except Exception as error:
        held, refused = None, str(error)
    launched = [name for name, times in door.kernels().items() if times != before.get(name, 0)]
    return held, refused, launched
"""


@pytest.fixture(scope="module", params=CARDS.values(), ids=str)
def card(request, tmp_path_factory):
    """Its compute capability, and what was seen of each rule there: bytes, error, kernels."""
    scripts = [rule.script for rule in RULES]
    script = f"print(json.dumps([seen(script) for script in {scripts!r}]))"
    cache = str(tmp_path_factory.mktemp("triton"))
    seen = play(
        BEGIN + script, gpu=request.param, TRITON_CACHE_DIR=cache, TORCHINDUCTOR_CACHE_DIR=cache
    )
    sm = next(sm for sm, name in CARDS.items() if name == request.param)
    return sm, dict(zip(scripts, seen, strict=True))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.op)
def test_a_card_runs_what_pytorchs_sources_choose(card, rule):
    sm, seen = card
    if "compile" in rule.script and shutil.which("cc") is None:
        pytest.skip("Triton needs a C compiler")
    held, refused, launched = seen[rule.script]
    wanted = rule.on[sm]
    assert wanted.refused in refused and bool(wanted.refused) == bool(refused), refused
    if wanted.kernel:
        assert any(wanted.kernel in name for name in launched), json.dumps(launched, indent=1)
    if wanted.held is not None:
        assert held == wanted.held, rule.source


def test_a_card_that_torch_has_no_code_for_runs_none():
    script = """
import torch
try:
    torch.empty(4, device="cuda").fill_(1)
except torch.AcceleratorError as error:
    print(json.dumps(str(error)))
"""
    assert "no kernel image is available" in play(script, gpu="v100-32gb")


TRAINING = """
import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(256), nn.Linear(256, 768), nn.Linear(256, 256)

    def forward(self, x):
        qkv = self.qkv(self.norm(x)).unflatten(-1, (3, 4, 64)).permute(2, 0, 3, 1, 4)
        heads = scaled_dot_product_attention(*qkv, is_causal=True)
        return x + self.out(heads.transpose(1, 2).flatten(2))

model = nn.Sequential(nn.Embedding(1024, 256), Block(), Block(), nn.Linear(256, 1024))
model = model.to("cuda", torch.half)
optimizer = torch.optim.AdamW(model.parameters())
ids = torch.ones(2, 128, dtype=torch.long, device="cuda")
for _ in range(2):
    cross_entropy(model(ids).flatten(0, 1).float(), ids.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
LEVELS = ("after", "peak", "reserved", "peak_reserved")
MORE_BLAS = 32 * MIB - (8 * MIB + 128 * 1024)  # of each of two threads


def test_a_training_step_takes_the_same_of_every_card_but_for_these_rules(run_forked):
    answers = {name: run_forked(TRAINING, gpu=name).answer for name in CARDS.values()}
    levels = {
        name: [[stage[level] for level in LEVELS] for stage in answer["stages"]]
        for name, answer in answers.items()
    }
    flash, cudnn = levels["a100-80gb"], levels["b200"]
    for name in ("rtx3090", "rtx4090", "rtx5090"):
        assert levels[name] == flash, name
    for hopper, other in zip(levels["h200"], cudnn, strict=True):
        assert hopper[0] - other[0] in (0, MORE_BLAS, 2 * MORE_BLAS)
        assert hopper[1] - other[1] in (0, MORE_BLAS, 2 * MORE_BLAS)
    # What attention keeps is gone with the step, what cuBLAS works in is not.
    ends = {name: rows[-1][0] for name, rows in levels.items()}
    assert {name for name, end in ends.items() if end == flash[-1][0]} == {*CARDS.values()} - {
        "h200"
    }
    assert ends["h200"] - ends["b200"] == 2 * MORE_BLAS
    told = {name for name, answer in answers.items() if "cuDNN's" in "".join(answer["notes"])}
    assert told == {"b200"}
