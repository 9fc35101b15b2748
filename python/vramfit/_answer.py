"""An answer, as it comes out of the estimator."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property

from vramfit import _core
from vramfit._card import CardAnswer, DeviceParts, Largest, Levels, Peak, Stage, card_of

TYPE_CHECKING = False  # typing itself takes long to import
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Advice:
    """Changes that make it fit."""

    changes: tuple[str, ...]  #: in words
    flags: str  #: as the command takes them
    without: tuple[str, ...]  #: flags to be left out
    script: dict[str, tuple[str, ...]]  #: arguments of the calls of a script
    verdict: str
    total: int  #: bytes
    margin: int  #: bytes
    slowdown: float | None  #: time against now; None: nobody measured it


def _advice(values: dict[str, Any]) -> Advice:
    return Advice(
        changes=tuple(values["changes"]),
        flags=values["flags"],
        without=tuple(values["without"]),
        script={call: tuple(arguments) for call, arguments in values["script"].items()},
        verdict=values["verdict"],
        total=values["total"],
        margin=values["margin"],
        slowdown=values["slowdown"],
    )


@dataclass(frozen=True)
class Answer:
    """What was asked, and the answer: for one card, or, where none was named and this machine has
    none, for each.

    Attributes of one card (`fits`, `total`, `levels`, …) raise AttributeError where there are
    several: `cards` has them.
    """

    _flags: str = field(repr=False, compare=False)  #: as JSON
    _more: tuple[str, ...] = field(repr=False, compare=False)  #: of a command line
    _json: str = field(repr=False)
    _fits: bool = field(repr=False)  #: on at least one card
    not_honoured: tuple[str, ...] = ()  #: what was given and does not count, a line each

    @cached_property
    def _asked(self) -> _core.Asked:
        """Asked again where the answer comes from another process."""
        return _core.ask(self._flags, [*self._more])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_asked"}

    @cached_property
    def _values(self) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(self._json)
        return values

    def to_dict(self) -> dict[str, Any]:
        """What `vramfit --json` prints: docs/schemas/fit.schema.json describes it."""
        values: dict[str, Any] = json.loads(self._json)
        return values

    def to_json(self) -> str:
        """The same as text, to the byte."""
        return self._json

    @property
    def fits(self) -> bool:
        """Whether it does; of a search: whether a size may; asked strictly: beyond doubt."""
        self._require_one_card()
        return self._fits

    @property
    def verdict(self) -> str:
        """FITS, TIGHT (within what figures may be off by) or OOM."""
        return self.card.verdict

    @cached_property
    def cards(self) -> tuple[CardAnswer, ...]:
        """The answer for each card."""
        values = self._values
        return tuple(card_of(card) for card in values.get("cards", [values]))

    @property
    def card(self) -> CardAnswer:
        """The answer for the one card."""
        self._require_one_card()
        return self.cards[0]

    def _require_one_card(self) -> None:
        if len(self.cards) != 1:
            message = f"the answer is of {len(self.cards)} cards: .cards; gpu= or vram= names one"
            raise AttributeError(message)

    @property
    def total(self) -> int:
        """What the card must have, in bytes."""
        return self.card.total

    @property
    def margin(self) -> int:
        """What the card has beyond that, in bytes; negative: what it lacks."""
        return self.card.margin

    @property
    def levels(self) -> Levels:
        """Allocated, reserved and used, in bytes."""
        return self.card.levels

    @property
    def components(self) -> dict[str, int]:
        """What is allocated at the peak, by what it is for, in bytes."""
        return self.card.components

    @property
    def peak(self) -> Peak:
        """When most is allocated."""
        return self.card.peak

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The run's stages, in order."""
        return self.card.stages

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed or left out, a line each."""
        return self.card.notes

    @property
    def largest(self) -> Largest | None:
        """What `largest`, `max_batch` or `max_seq` found."""
        return self.card.largest

    @property
    def devices(self) -> tuple[DeviceParts, ...]:
        """Under llama.cpp: what each GPU and the host hold, part by part."""
        return self.card.devices

    @property
    def serving(self) -> dict[str, Any] | None:
        """Under vllm: what it counts, its blocks and requests at once, why it would not start."""
        return self.card.serving

    @property
    def own_choice(self) -> dict[str, str] | None:
        """Under llama.cpp: the keywords that its --fit would set on such a card."""
        return self.card.own_choice

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """What would make it fit, the cheapest first: of `advise`."""
        return tuple(_advice(each) for each in self._values.get("advice", []))

    def text(self, verbose: bool = False) -> str:
        """What `vramfit` prints."""
        return self._asked.text(verbose)

    def snapshot(self, path: str | PathLike[str]) -> None:
        """Writes the run as PyTorch's memory snapshot, for https://pytorch.org/memory_viz.

        Raises BadInput where the answer is of several cards or of a search.
        """
        pickle = self._asked.snapshot()
        from pathlib import Path

        Path(path).write_bytes(pickle)

    def trace(self, path: str | PathLike[str]) -> None:
        """Writes the run as a Chrome trace, for https://ui.perfetto.dev. Raises as `snapshot`
        does."""
        trace = self._asked.trace()
        from pathlib import Path

        Path(path).write_text(trace, encoding="utf-8")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the components against the card's memory. Needs matplotlib (`vramfit[plot]`)."""
        from vramfit._plot import plot

        return plot(self.cards, ax)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        """Verdict and total: "<Answer: FITS, 10.10 GB of 25.76 GB on rtx4090>"."""
        if len(self.cards) != 1:
            fitting = sum(card.fits for card in self.cards)
            return f"<Answer: fits on {fitting} of {len(self.cards)} cards>"
        card = self.card
        on = f" on {card.gpu or card.title}" if card.gpu or card.title else ""
        found = f", largest {self.largest.size}" if self.largest else ""
        sizes = f"{card.total / 1e9:.2f} GB of {card.vram / 1e9:.2f} GB"
        return f"<Answer: {card.verdict}, {sizes}{on}{found}>"

    if not TYPE_CHECKING:  # a slip of the pen stays one for type checkers

        def __getattr__(self, name):
            """What `to_dict()` has beside: `answer.capacity`, `answer.asked`."""
            if name in type(self).__dict__:
                self._require_one_card()
            values = {} if name.startswith("_") else self._values
            if name in values:
                return values[name]
            raise AttributeError(f"an answer has no '{name}'; dir(answer) lists what it has")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._values})

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from vramfit._picture import html

        return html(self.cards, self.not_honoured)
