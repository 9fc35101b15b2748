"""LLM.int8()'s outliers: in as many columns as random weights give them, where an MLP has them."""

import json

import numpy
import pytest
from exact.cases import LEVELS, REFERENCE, every_case, readings
from stood_in import needs_torch, play

ROWS, WIDE, HIDDEN = 256, 4096, 2048

_BLOCK = f"""
import torch
from bitsandbytes.nn import Linear8bitLt
from torch import nn

def linear(rows, columns):
    return Linear8bitLt(rows, columns, bias=False, has_fp16_weights=False, threshold=6.0)

class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = linear({WIDE}, {HIDDEN}), linear({WIDE}, {HIDDEN})
        self.down, self.act_fn = linear({HIDDEN}, {WIDE}), nn.SiLU()
    def forward(self, x):
        return self.down(self.act_fn(self.gate(x)) * self.up(x))

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.act, self.fc2 = linear({WIDE}, {HIDDEN}), nn.GELU(), linear({HIDDEN}, {WIDE})
    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o = linear({WIDE}, {WIDE}), linear({WIDE}, {WIDE})
    def forward(self, x):
        return self.o(self.q(x))

def outliers(block):
    block = block.half().cuda()
    block(torch.randn({ROWS}, {WIDE}, device="cuda", dtype=torch.float16))
    return {{name: len(child.state.idx) for name, child in block.named_children()
            if isinstance(child, Linear8bitLt)}}
"""


def counted(activation, *, gated):
    """In numbers that are drawn, of sums of WIDE numbers times weights of 0.02."""
    draw = numpy.random.default_rng(0)
    deviation = 0.02 * WIDE**0.5
    made = activation(draw.normal(0, deviation, (ROWS, HIDDEN)))
    if gated:
        made *= draw.normal(0, deviation, (ROWS, HIDDEN))
    return int((abs(made) >= 6).any(axis=0).sum())


def silu(x):
    return x / (1 + numpy.exp(-x))


@needs_torch
def test_what_is_gated_has_as_many_as_numbers_that_are_drawn():
    found = play(f"{_BLOCK}print(__import__('json').dumps(outliers(Gated())))")
    assert found["gate"] == found["up"] == 0
    assert found["down"] == pytest.approx(counted(silu, gated=True), rel=0.1)


@needs_torch
def test_what_is_not_gated_has_few_and_attention_none():
    script = "print(__import__('json').dumps([outliers(Plain()), outliers(Attention())]))"
    plain, attention = play(_BLOCK + script)
    assert plain["fc1"] == 0
    # gelu leaves what is 6 as it is, more than four deviations away.
    assert plain["fc2"] == pytest.approx(counted(lambda x: x.clip(0), gated=False), abs=3)
    assert attention == {"q": 0, "o": 0}


@needs_torch
def test_adapters_around_a_linear_do_not_hide_it_and_no_two_linears_have_as_many():
    script = f"""
import json, peft
model = nn.Sequential(*(Gated() for _ in range(3)))
adapted = peft.get_peft_model(model, peft.LoraConfig(target_modules=["down"])).cuda()
for _ in range(2):
    adapted(torch.randn({ROWS}, {WIDE}, device="cuda", dtype=torch.float16))
    print(json.dumps([len(block.down.base_layer.state.idx) for block in model]))
"""
    found = play(_BLOCK + script)
    assert min(found) > 0
    assert len({*found}) > 1


def measured_with_outliers():
    """Cases whose outliers were counted on the GPU, those that are played in seconds."""
    again = [json.loads(line) for line in (REFERENCE / "pytorch_again.jsonl").open()]
    cases = {case.name: case for case in every_case()}
    found = [(cases[line["again"]], line) for line in again if "outliers" in line]
    played = [(case, line) for case, line in found if case.setting["model"] != "llama2-7b"]
    assert played
    return played


_WITH_THESE = """
import json, pathlib, sys, tempfile
sys.path.insert(0, {reference!r})
import measure_pytorch_companions as program
program.more.CHECKPOINTS = pathlib.Path(tempfile.mkdtemp()) / "models"
from vramfit.standin import _outliers
counted = iter({outliers})
expecting = _outliers.expecting
_outliers.expecting = lambda values, reads, run: expecting(
    values, [1, count] if (count := next(counted)) else [0], run
)
print(json.dumps(program.run(json.loads({case!r}))))
"""


@needs_torch
@pytest.mark.parametrize(
    ("case", "line"), [pytest.param(*one, id=one[0].name) for one in measured_with_outliers()]
)
def test_with_as_many_as_the_gpu_counted_all_is_as_measured(case, line):
    """To the byte, but for `context`, which is read before there are any."""
    script = _WITH_THESE.format(
        reference=str(REFERENCE), outliers=line["outliers"], case=json.dumps(dict(case.setting))
    )
    found = readings(play(script, gpu=case.card))
    for (name, read), measured in zip(found.items(), line["runs"][0], strict=True):
        allocated = [read[level] for level in LEVELS[:-1]]
        assert name == "context" or allocated == measured[:-1], name
