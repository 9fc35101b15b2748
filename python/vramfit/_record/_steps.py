"""A run's acts by step, blocks by the step that made them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vramfit._bad_input import bad_input
from vramfit.standin._acts_names import (
    ALLOCATE,
    EMPTY_CACHE,
    GIVEN_BACK,
    LET_GO,
    OUT_OF_MEMORY,
    SEGMENT,
    SEGMENT_FREED,
)

Json = dict[str, Any]
Block = tuple[int, int]  # its step, and which of that step's allocations

STAGES = ("load", "forward", "backward", "optimizer", "compile")
# In a tape's words; what a table of components has beside them is of these.
_WHAT = {"logits": "activations", "rounding": "activations"}


@dataclass(frozen=True, slots=True)
class Act:
    kind: str  # "stage", "alloc", "drop", "free", "empty_cache"
    stage: str  # that it falls in
    block: Block = (0, 0)
    bytes: int = 0
    stream: int = 0
    what: str = ""
    line: str = ""  # of Python that asked for the block
    key: tuple[Any, ...] = ()  # by which it is found again in runs at other sizes


@dataclass(slots=True)
class Step:
    acts: list[Act] = field(default_factory=list)
    # Of each act how many segments there were once it was done, and how much code of the driver's
    # as its stage began and ended.
    segments: list[int] = field(default_factory=list)
    loaded: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Taken:
    """A run at one point."""

    steps: list[Step]
    loads: list[tuple[str, int, int]]  # the driver's code, its bytes, after how many segments


class _Reader:
    def __init__(self, kept: Json) -> None:
        self._what, self._lines = kept["what"], kept["lines"]
        self._made: list[Act] = []
        self._fates: dict[int, tuple[Any, ...]] = {}
        self._counts: dict[int, int] = {}
        self._segments = 0
        self._loaded = (0, 0)
        self._stage: tuple[int, str] = (0, "")
        self._emptied = False
        self.steps: list[Step] = []

    def look_ahead(self, stages: list[Json]) -> None:
        """Of each block when it goes: within the call of the op that asked for it, or in which
        stage, how many steps later. Optional ones are told from others by that."""
        made: list[tuple[int, int]] = []  # of each the step, and the op's call
        for stage in stages:
            for act in stage["acts"]:
                if act[0] == ALLOCATE:
                    made.append((stage["step"], self._what[len(made)][3]))
                elif act[0] == LET_GO:
                    step, call = made[act[1]]
                    if made[-1][1] == call:
                        self._fates[act[1]] = ("within",)
                    else:
                        self._fates[act[1]] = (stage["stage"], stage["step"] - step)

    def stage(self, number: int, stage: str, acts: list[list[Any]], loaded: int) -> None:
        if stage not in STAGES:
            raise bad_input(f"record: a run with a stage '{stage}' is no tape's; vramfit run tells")
        while len(self.steps) <= number:
            self.steps.append(Step())
        self._loaded = self._loaded[1], loaded
        if (number, stage) != self._stage:  # as the run ends its last stage is closed again
            self._add(Act("stage", stage, key=("stage", stage)))
        self._stage = number, stage
        for at, act in enumerate(acts):
            self._act(act, acts[at + 1 : at + 2])

    def _add(self, act: Act) -> None:
        self.steps[-1].acts.append(act)
        self.steps[-1].segments.append(self._segments)
        self.steps[-1].loaded.append(self._loaded)

    def _act(self, act: list[Any], following: list[list[Any]]) -> None:
        kind = act[0]
        if kind == SEGMENT:
            self._segments += 1
            return
        if kind == SEGMENT_FREED and self._emptied:
            return
        self._emptied = kind == EMPTY_CACHE
        if kind in (OUT_OF_MEMORY, SEGMENT_FREED):
            raise bad_input(
                "record: memory ran short while recording; smaller sizes, or --gpu with more memory"
            )
        if kind == ALLOCATE:
            self._allocation(*act[1:])
        elif kind == EMPTY_CACHE:
            self._add(Act("empty_cache", self._stage[1], key=("empty_cache",)))
        elif kind == LET_GO and following != [[GIVEN_BACK, act[1]]]:
            self._gone("drop", act[1])
        elif kind == GIVEN_BACK:
            self._gone("free", act[1])

    def _allocation(self, size: int, stream: int) -> None:
        step = len(self.steps) - 1
        what, number, op, _ = self._what[len(self._made)]
        place = self._counts.get(step, 0)
        self._counts[step] = place + 1
        line = self._lines[number]
        act = Act(
            "alloc", self._stage[1], (step, place), size, stream, _WHAT.get(what, what), line,
            ("alloc", stream, line, op, *self._fates.get(len(self._made), ("never",))),
        )  # fmt: skip
        self._made.append(act)
        self._add(act)

    def _gone(self, kind: str, number: int) -> None:
        of = self._made[number]
        self._add(Act(kind, self._stage[1], of.block, line=of.line))


def taken(kept: Json) -> Taken:
    """Of what standin/_acts.py wrote down. Raises BadInput where that is no tape's."""
    _refuse_settings(kept)
    reader = _Reader(kept)
    reader.look_ahead(kept["stages"])
    for stage in kept["stages"]:
        reader.stage(stage["step"], stage["stage"], stage["acts"], stage["loaded"])
    for step in reader.steps:
        _sort_frees(step.acts)
    return Taken(reader.steps, [tuple(load) for load in kept["loads"]])


def _sort_frees(acts: list[Act]) -> None:
    """Of blocks that go one right after the other any order leaves the same. Autocast's copies go
    in that of a hash of addresses."""
    begin = 0
    for at in range(len(acts) + 1):
        if at < len(acts) and acts[at].kind == "free":
            continue
        acts[begin:at] = sorted(acts[begin:at], key=lambda act: act.block)
        begin = at + 1


def _refuse_settings(kept: Json) -> None:
    if kept["pools"]:
        raise bad_input("record: pools of memory (CUDA graphs) are no tape's; vramfit run tells")
    settings = kept["settings"]
    if settings.get("expandable_segments") or settings.get("max_split_size", -1) > 0:
        raise bad_input(
            "record: the allocator's settings are those of its defaults in a tape: without "
            "PYTORCH_ALLOC_CONF"
        )
