"""What handlers of single ops are given, in place of a repetition on the host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

import torch

from vramfit.standin._door import Door
from vramfit.standin._twins import Twins


class Known(Protocol):
    """What is known of values, and the two ways to run an op: vramfit.standin._values has it."""

    door: Door
    twins: Twins
    reads: Counter[str]

    def repeated(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def not_repeated(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def read(self, tensor: torch.Tensor) -> torch.Tensor: ...


Handler = Callable[[Known, Any, tuple[Any, ...], dict[str, Any]], Any]
