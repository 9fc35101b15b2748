"""How something is trained, whatever the batch and the card: the rest of its row's axes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from vramfit_plots.row_name import RowName

_TRIED_WITH = {"batch", "gpu"}  # what a strategy is held against
_POSITIONAL = ("model", "precision", "optimizer")
_FORWARD = ("checkpoint", "every")
_WORDS = {
    "seq": "{} tokens",
    "attn": "attention by {}",
    "accumulate": "{} micro-batches",
    "lora": "LoRA {}",
    "targets": "on {}",
}


@dataclass(frozen=True)
class Strategy:
    """Two of the same axes are the same, in whichever order their rows' names have them."""

    items: frozenset[tuple[str, str]]

    @cached_property
    def axes(self) -> Mapping[str, str]:
        return dict(self.items)

    @property
    def model(self) -> str:
        return self.axes["model"]

    @property
    def adapts(self) -> bool:
        """Whether it trains adapters alone."""
        return "lora" in self.axes

    @property
    def checkpointing(self) -> str:
        """ "none", "full", "selective, 1 block of 2"."""
        kind, every = self.axes.get("checkpoint", "none"), self.axes.get("every", "1")
        return kind if every == "1" else f"{kind}, 1 block of {every}"

    def without(self, *axes: str) -> "Strategy":
        return Strategy(frozenset(item for item in self.items if item[0] not in axes))

    @property
    def stored(self) -> "Strategy":
        """Without checkpointing."""
        return self.without(*_FORWARD)

    def words(self, *understood: str) -> str:
        """ "llama2-7b nf4 adamw, LoRA 16, full checkpointing", less the axes that the
        reader knows."""
        start = " ".join(
            self.axes[a] for a in _POSITIONAL if a in self.axes and a not in understood
        )
        rest = [axis for axis in self.axes if axis not in {*_POSITIONAL, *_FORWARD, *understood}]
        more = [_WORDS.get(axis, axis + " {}").format(self.axes[axis]) for axis in sorted(rest)]
        if self.checkpointing != "none":
            kind, _, every = self.checkpointing.partition(", ")
            more.append(f"{kind} checkpointing" + (f" of {every}" if every else ""))
        return ", ".join([start, *more])


def strategy_of(name: RowName) -> Strategy:
    return Strategy(frozenset(item for item in name.axes.items() if item[0] not in _TRIED_WITH))
