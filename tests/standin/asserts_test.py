"""Which of PyTorch's ops are the first to run a kernel that may report a failed assertion: the
driver keeps addresses for that, 10 MiB, and segments come to lie elsewhere. Read off an H200
(driver 580.159.04, PyTorch 2.11) by where the next segment lay."""

import pytest
from stood_in import EXACT, needs_torch, play

TAKE = (
    "arange(0, 64, 2, dtype=torch.int64).to(dtype=torch.float32)",
    "10000.0 ** s",
    "s.sum()",
    "s.view(4, 16).mean(-1)",
    "(s > 0).all()",
    "s.max()",
    "s.index_select(0, i)",
    "s[i]",
    "s.gather(0, i)",
    "F.embedding(i, s.view(16, 4))",
    "F.nll_loss(s.view(16, 4), i)",
    "s.view(8, 8).argmax(-1)",
    "s.view(8, 8).topk(2)",
    "torch.zeros(64).scatter_(0, i, s[:16])",
    "torch.zeros(64).index_add_(0, i, s[:16])",
    "torch.bincount(i)",
    "F.one_hot(i, 4)",
    "s.norm()",
)
TAKE_NONE = (
    "None",
    "arange(0, 64, 2, dtype=torch.float32)",
    "1.0 / s",
    "s * 2.0",
    "s.clone()",
    "s.cumsum(0)",
    "torch.cat([s, s])",
    "s.view(8, 8).tril()",
    "s.view(8, 8).softmax(-1)",
    "F.layer_norm(s.view(8, 8), (8,))",
    "s.normal_()",
    "s.view(8, 8).sort(-1)",
    "torch.where(s > 0, s, s)",
    "torch.histc(s, 4, 0, 3)",
    "torch._foreach_norm([s, s])",
    "F.dropout(s, 0.5)",
    "s.masked_fill(s > 0, 0.0)",
    "torch.linspace(0, 1, 64)",
    "torch.outer(s, s)",
    "s.cos()",
)
# Each in a process of its own: 12 MiB lie beside 12 MiB, or 10 behind them.
SCRIPT = """
import os, torch, torch.nn.functional as F
from torch import arange
def gap(op):
    reader, writer = os.pipe()
    if os.fork() == 0:
        torch.set_default_device("cuda")
        s, i = torch.zeros(64), torch.empty(16, dtype=torch.int64).zero_()
        first = torch.empty(12 << 20, dtype=torch.uint8)
        eval(op)
        second = torch.empty(12 << 20, dtype=torch.uint8)
        os.write(writer, str((second.data_ptr() - first.data_ptr()) >> 20).encode())
        os._exit(0)
    os.close(writer)
    return int(os.fdopen(reader).read())
print(json.dumps([gap(op) for op in OPS]))
"""


@needs_torch
@pytest.mark.parametrize("ops, gap", [(TAKE, 22), (TAKE_NONE, 12)], ids=["take", "take_none"])
def test_ops_that_take_addresses_for_assertions_are_an_h200s(ops, gap):
    gaps = play(SCRIPT.replace("OPS", repr(ops)), python=EXACT)
    assert dict(zip(ops, gaps, strict=True)) == dict.fromkeys(ops, gap)
