"""Rows that a mask takes: as many as it says, however it lies in memory."""

import pytest
from stood_in import needs_torch, play

_MASK = """
import torch
ids = torch.zeros(2, 9, dtype=torch.long)
ids[:, 1:4] = 7
wide = torch.randn(2, 9, 600_000, device="cuda", requires_grad=True)  # too large to be computed
mask = (ids.cuda() == 7).unsqueeze(-1)
spread = mask.expand_as(wide)
seen = torch.randn(6, 600_000, device="cuda", requires_grad=True)
"""

_TAKES = {
    "index": "wide[spread].numel()",
    "masked_select": "wide.masked_select(mask).numel()",
    "a view of columns": "len(torch.nonzero(spread[:, :, :3]))",
}


@needs_torch
@pytest.mark.parametrize("taken", [*_TAKES.values()], ids=[*_TAKES])
def test_a_mask_that_is_spread_takes_what_it_says(taken):
    count = {_TAKES["a view of columns"]: 6 * 3}.get(taken, 6 * 600_000)
    assert play(f"{_MASK}print({taken})") == count


@needs_torch
@pytest.mark.parametrize("made", ["wide[spread]", "wide.masked_scatter(spread, seen)"])
def test_backward_takes_as_many(made):
    script = f"{_MASK}{made}.sum().backward()\nprint(torch.cuda.max_memory_allocated())"
    assert play(script) > 0
