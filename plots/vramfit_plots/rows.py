"""Row names as `bench` writes them, "Training/llama2-7b/fp16/adamw/batch:4/seq:512", and what they
are of: a strategy, whatever the batch and the card; a spread over several GPUs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from vramfit_plots.files import BadInputError
from vramfit_plots.units import times

_NUMBER = re.compile("[0-9]{1,12}")


@dataclass(frozen=True)
class RowName:
    family: str
    axes: Mapping[str, str]  # those that the name has, in its order: "model", "batch"

    def text(self, axis: str) -> str:
        if axis not in self.axes:
            raise BadInputError(f"row '{self.family}/{'/'.join(self.axes.values())}': no {axis}")
        return self.axes[axis]

    @property
    def size(self) -> str:
        """Batch and length, times each other."""
        return times(self.text("batch"), self.text("seq"))

    def number(self, axis: str) -> int:
        text = self.text(axis)
        if not _NUMBER.fullmatch(text):
            raise BadInputError(f"row '{self.family}/…': {axis}: is '{text}'; expected is a number")
        return int(text)


def family(name: str) -> str:
    return name.partition("/")[0]


def parse(name: str, axes: Sequence[str]) -> RowName:
    """`axes` is bench's list. "batch:4" names its axis; values without a key belong to the axes
    without one, in their order."""
    parts = name.split("/")[1:]
    alone = [axis for axis in axes if not axis.endswith(":")]
    values = dict(zip(alone, (part for part in parts if ":" not in part), strict=False))
    keyed = dict(part.split(":", 1) for part in parts if ":" in part)
    return RowName(family(name), {**values, **keyed})


_TRIED_WITH = {"batch", "gpu"}  # what a strategy is held against
_NAMED = ("model", "precision", "optimizer")
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
        start = " ".join(self.axes[a] for a in _NAMED if a in self.axes and a not in understood)
        rest = [axis for axis in self.axes if axis not in {*_NAMED, *_FORWARD, *understood}]
        more = [_WORDS.get(axis, axis + " {}").format(self.axes[axis]) for axis in sorted(rest)]
        if self.checkpointing != "none":
            kind, _, every = self.checkpointing.partition(", ")
            more.append(f"{kind} checkpointing" + (f" of {every}" if every else ""))
        return ", ".join([start, *more])


def strategy_of(name: RowName) -> Strategy:
    return Strategy(frozenset(item for item in name.axes.items() if item[0] not in _TRIED_WITH))


FAMILY = "MultiGpu"
_SPREAD = ("model", "precision", "optimizer", "strategy")
STRATEGIES = ("ddp", "zero1", "zero2", "fsdp", "pipeline")
NAMES = {
    "ddp": "DDP",
    "zero1": "ZeRO-1",
    "zero2": "ZeRO-2",
    "fsdp": "FSDP / ZeRO-3",
    "pipeline": "pipeline",
}
# Bytes a parameter that weights, gradients and states come to, in 16 bits.
PER_PARAMETER = {"adamw-same": 8, "adamw": 12, "adamw-master": 16}


@dataclass(frozen=True)
class Spread:
    """What is trained, and on how many GPUs by which strategy. Batch and tokens are each GPU's,
    but of a pipeline all GPUs'."""

    model: str
    precision: str
    optimizer: str
    strategy: str
    batch: int
    seq: int
    gpus: int
    more: tuple[str, ...] = ()  # further axes, "accumulate:8"

    @property
    def row(self) -> str:
        whose = [getattr(self, axis) for axis in _SPREAD]
        sizes = [f"batch:{self.batch}", f"seq:{self.seq}", f"gpus:{self.gpus}"]
        return "/".join([FAMILY, *whose, *sizes, *self.more])

    @property
    def alone(self) -> "Spread":
        """The same work of a GPU, done by one of them."""
        return replace(self, strategy="ddp", gpus=1)

    @property
    def training(self) -> str:
        """The same on one GPU, as rows of that family are named."""
        parts = [part for part in self.alone.row.split("/") if part not in {"ddp", "gpus:1"}]
        return "/".join(["Training", *parts[1:]])

    @property
    def form(self) -> tuple[str, ...]:
        """What is other than usual beside the number of micro-batches."""
        return tuple(one for one in self.more if not one.startswith("accumulate:"))

    @property
    def micro_batches(self) -> int:
        return next((int(one[11:]) for one in self.more if one.startswith("accumulate:")), 1)


def spread(row: str) -> Spread | None:
    """None where the row is of another family."""
    family, *parts = row.split("/")
    if family != FAMILY:
        return None
    keyed = dict(part.split(":", 1) for part in parts if ":" in part)
    sizes = {axis: int(keyed.pop(axis)) for axis in ("batch", "seq", "gpus")}
    return Spread(*parts[: len(_SPREAD)], **sizes, more=tuple(map(":".join, keyed.items())))
