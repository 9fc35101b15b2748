"""Rows of KvCache by what keys and values are stored in, and how: those of the article's model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import MEASURED, PREDICTED, Source

PLAIN = "16 bits"  # as --cache=unquantized stores them of a model in 16 bits
_FORM = (
    r"KvCache/{model}/bf16/batch:(?P<batch>\d+)/seq:(?P<seq>\d+)/generate:(?P<generate>\d+)"
    r"(?:/cache:(?P<cache>[^/]+))?(?:/block:(?P<block>\d+))?(?P<spread>/lengths:spread)?"
)


@dataclass(frozen=True)
class KvCache:
    row: str
    stored_in: str
    block: int  # positions; 0: one block for a whole sequence
    spread: bool  # prompts of unequal length
    batch: int
    positions: int  # of a sequence
    bytes_per_token: float
    bytes: float
    waste: float  # bytes of positions that no sequence fills

    @property
    def blocks(self) -> str:
        return f"of {self.block}" if self.block else "one a sequence"

    @property
    def prompts(self) -> str:
        return "unequal" if self.spread else "equal"


@dataclass(frozen=True)
class KvCaches:
    inputs: Inputs
    model: str
    source: Source
    every: Sequence[KvCache]
    of_inference: Sequence[tuple[int, float]]  # tokens and bytes of prompts in 16 bits

    @property
    def pattern(self) -> str:
        return f"^KvCache/{self.model}/bf16/"

    def of_shortest(self) -> Sequence[KvCache]:
        """Those of the fewest positions, where nothing but the cache's kind differs."""
        least = min(cache.positions for cache in self.every)
        return [cache for cache in self.every if cache.positions == least]


def _of_inference(inputs: Inputs, model: str, source: Source) -> list[tuple[int, float]]:
    form = re.compile(rf"Inference/{re.escape(model)}/bf16/batch:(\d+)/seq:(\d+)")
    found = []
    for match in filter(None, map(form.fullmatch, inputs.run.rows.index)):
        size = inputs.value(match[0], f"{source.prefix}kv_cache")
        if size is not None:
            found.append((int(match[1]) * int(match[2]), size))
    return found


def load_kv_caches(inputs: Inputs) -> KvCaches:
    """Of the measured rows, or where there are none of the predicted ones."""
    model = inputs.article.inference["model"]
    form = re.compile(_FORM.format(model=re.escape(model)))
    for source in (MEASURED, PREDICTED):
        every = []
        for match in filter(None, map(form.fullmatch, inputs.run.rows.index)):
            per_token, size, waste = (
                inputs.value(match[0], f"{source.prefix}{counter}")
                for counter in ("kv_bytes_per_token", "kv_cache", "kv_waste")
            )
            if per_token is None or size is None or waste is None:
                continue
            every.append(
                KvCache(
                    row=match[0],
                    stored_in=match["cache"] or PLAIN,
                    block=int(match["block"] or 0),
                    spread=bool(match["spread"]),
                    batch=int(match["batch"]),
                    positions=int(match["seq"]) + int(match["generate"]) - 1,
                    bytes_per_token=per_token,
                    bytes=size,
                    waste=waste,
                )
            )
        if every:
            return KvCaches(inputs, model, source, every, _of_inference(inputs, model, source))
    raise AbsentError(f"rows KvCache/{model}/bf16/…/generate:…")
