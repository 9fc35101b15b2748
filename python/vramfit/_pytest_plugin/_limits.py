"""What `@pytest.mark.vram` was given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._sizes import size_of

if TYPE_CHECKING:
    import pytest

_NAMES = ("gpu", "max", "vram", "steps")
# A test runs to its own end, however many steps that are.
_ALL_STEPS = 1_000_000_000


@dataclass(frozen=True)
class Limits:
    card: tuple[str, ...]  # vramfit run's flags
    max: int | None  # bytes
    steps: int

    def judge(self, answer: dict[str, Any]) -> str | None:
        """Why it takes too much; None: it does not."""
        total = answer["total"]
        if self.max is not None and total > self.max:
            return f"{(total - self.max) / 1e9:.2f} GB more than max, {self.max / 1e9:.2f} GB"
        return None if answer["fits"] else "which does not fit"


def limits_of(mark: pytest.Mark) -> Limits:
    """Raises BadInput."""
    given = mark.kwargs
    if mark.args:
        raise bad_input(f"vram: {mark.args[0]!r} has no name; vram(gpu='rtx4090', max='20GB')")
    for name in given:
        if name not in _NAMES:
            raise bad_input(f"vram: no argument '{name}'; there are {', '.join(_NAMES)}")
    card = {name: str(given[name]) for name in ("gpu", "vram") if given.get(name) is not None}
    if not card:
        raise bad_input("vram: which GPU: gpu='rtx4090', or any other by its size, vram='24GiB'")
    try:
        _core.card_facts(json.dumps(card))
    except _core.BadInput as error:
        raise bad_input(f"vram: {error}") from None
    limit, steps = given.get("max"), given.get("steps", _ALL_STEPS)
    if type(steps) is not int or steps < 1:
        raise bad_input(f"vram: steps: is {steps!r}; a whole number from 1")
    return Limits(
        card=tuple(text for name, value in card.items() for text in (f"--{name}", value)),
        max=None if limit is None else size_of("vram: max", str(limit)),
        steps=steps,
    )
