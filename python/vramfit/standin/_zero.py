"""ZeroRedundancyOptimizer.consolidate_state_dict(): ranks send each other their states, as large as
this one's own would be of their parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_leaves, tree_map_only

from vramfit.standin._imports import when_imported


def consolidate_alone() -> None:
    """For as long as the process lives."""
    when_imported("torch.distributed.optim.zero_redundancy_optimizer", _be_sent)


def _be_sent(module: Any) -> None:
    consolidate = module.ZeroRedundancyOptimizer.consolidate_state_dict

    @functools.wraps(consolidate)
    def consolidate_state_dict(self: Any, to: int = 0) -> None:
        module._broadcast_object = _broadcasting(self, broadcast)
        try:
            consolidate(self, to)
        finally:
            module._broadcast_object = broadcast

    broadcast = module._broadcast_object
    module.ZeroRedundancyOptimizer.consolidate_state_dict = consolidate_state_dict


def _broadcasting(optimizer: Any, broadcast: Callable[..., Any]) -> Callable[..., Any]:
    def broadcast_object(obj: Any, src_rank: int, group: Any, device: torch.device) -> Any:
        """Received as PyTorch does it: their length, one tensor of them all, and each by itself."""
        if src_rank == dist.get_rank():
            return broadcast(obj, src_rank, group, device)
        states = _states_of(optimizer, dist.get_group_rank(group, src_rank))
        tensors = [leaf for leaf in tree_leaves(states) if isinstance(leaf, torch.Tensor)]
        received = torch.empty(
            sum(tensor.nbytes for tensor in tensors), dtype=torch.uint8, device=device
        )
        dist.broadcast(received, src_rank, group)
        return tree_map_only(
            torch.Tensor, lambda each: torch.empty_like(each, device=device), states
        )

    return broadcast_object


def _states_of(optimizer: Any, rank: int) -> dict[str, Any]:
    """A rank's, on the meta device."""
    own = optimizer.optim.state_dict()
    group = next(group for group in optimizer.optim.param_groups if group["params"])
    parameter = group["params"][0]
    pattern = optimizer.optim.state[parameter]

    def like(state: Any, of: torch.Tensor) -> Any:
        if not isinstance(state, torch.Tensor):
            return state
        shape = of.shape if state.shape == parameter.shape else state.shape
        return torch.empty(shape, dtype=state.dtype, device="meta")

    groups = []
    states: dict[int, dict[str, Any]] = {}
    for mine, theirs in zip(
        own["param_groups"], optimizer._partition_parameters()[rank], strict=True
    ):
        first = len(states)
        for each in theirs["params"]:
            states[len(states)] = {name: like(state, each) for name, state in pattern.items()}
        groups.append({**mine, "params": [*range(first, len(states))]})
    return {"state": states, "param_groups": groups}
