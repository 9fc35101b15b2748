"""An op on the host, with what is known of the GPU's tensors in their place."""

from __future__ import annotations

from typing import Any

import torch

from vramfit.standin._door import ASSUMED, KNOWN
from vramfit.standin._ops import Op
from vramfit.standin._twins import Twins


class OnHost:
    """One call of one op. `level` is the least that is known of what it computes from."""

    def __init__(
        self, op: Op, written: list[torch.Tensor], twins: Twins, random: torch.Generator
    ) -> None:
        """`written`: those of its tensors that it writes into. `random`: what an op that draws
        numbers draws from."""
        self._op, self._written, self._twins, self._random = op, written, twins, random
        self.level = ASSUMED if op.is_random else KNOWN

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the op gives. Raises what it raises where the host cannot run it."""
        host_args = tuple(self._twin(value) for value in args)
        host_kwargs = {key: self._twin(value) for key, value in kwargs.items()}
        if "generator" in host_kwargs:
            host_kwargs["generator"] = None
        if host_kwargs.get("pin_memory"):
            host_kwargs["pin_memory"] = False
        if not self._op.is_random:
            return func(*host_args, **host_kwargs)
        # The script's own random numbers on the host are not to be drawn from.
        state = torch.get_rng_state()
        torch.set_rng_state(self._random.get_state())
        try:
            return func(*host_args, **host_kwargs)
        finally:
            self._random.set_state(torch.get_rng_state())
            torch.set_rng_state(state)

    def _twin(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._twin_of(value) if value.is_cuda else value
        if type(value) in (list, tuple):
            return type(value)(self._twin(each) for each in value)
        if isinstance(value, torch.device):
            return torch.device("cpu") if value.type == "cuda" else value
        return None if isinstance(value, torch.Generator) else value

    def _twin_of(self, tensor: torch.Tensor) -> torch.Tensor:
        if not any(tensor is other for other in self._written):
            twin, level = self._twins.values(tensor)
        elif self._op.overwrites:
            return self._twins.overwritten(tensor)
        else:
            twin, level = self._twins.filled(tensor)
        if not self._op.shapes_alone:
            self.level = min(self.level, level)
        return twin
