"""An op on the host, with what is known of the GPU's tensors in their place."""

from __future__ import annotations

from typing import Any

import torch

from vramfit.standin._door import ASSUMED, KNOWN
from vramfit.standin._twins import Twins


class OnHost:
    """One call of one op. `level` is the least that is known of what it computes from."""

    def __init__(self, twins: Twins, random: torch.Generator | None) -> None:
        """`random`: what an op that draws numbers draws from."""
        self._twins, self._random = twins, random
        self.level = KNOWN if random is None else ASSUMED

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the op gives. Raises what it raises where the host cannot run it."""
        host_args = tuple(self._twin(value) for value in args)
        host_kwargs = {key: self._twin(value) for key, value in kwargs.items()}
        if "generator" in host_kwargs:
            host_kwargs["generator"] = None
        if host_kwargs.get("pin_memory"):
            host_kwargs["pin_memory"] = False
        if self._random is None:
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
            if not value.is_cuda:
                return value
            filled, level = self._twins.filled(value)
            self.level = min(self.level, level)
            return filled
        if type(value) in (list, tuple):
            return type(value)(self._twin(each) for each in value)
        if isinstance(value, torch.device):
            return torch.device("cpu") if value.type == "cuda" else value
        if isinstance(value, torch.Generator):
            return None
        return value
