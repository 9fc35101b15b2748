"""Sizes that a model's config may have: of larger ones transformers' code builds without end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

# As fit has it (model/config/limits.h).
MOST = {"num_hidden_layers": 512, "hidden_size": 1 << 20, "vocab_size": 1 << 24}


def too_large(config: Any) -> str:
    """What is too large in a config or a part of it, such as its text model's; "" where nothing
    is."""
    for part in _parts(config):
        for name, most in MOST.items():
            size = getattr(part, name, None)
            if isinstance(size, int) and size > most:
                return f"{name}: is {size}; a whole number from 1 to {most}"
    return ""


def _parts(config: Any) -> Iterator[Any]:
    yield config
    for name in getattr(config, "sub_configs", {}):
        yield from _parts(getattr(config, name, None))
