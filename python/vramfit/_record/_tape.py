"""A tape of runs at several points: their acts, with sizes as expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vramfit._record._merge import Merged, PartError, merged
from vramfit._record._solve import Point, Said, Solver
from vramfit._record._steps import Act, Block, Step, Taken
from vramfit._record._thresholds import Condition, condition

_GONE = ("free", "drop")


@dataclass(slots=True)
class Statement:
    kind: str
    words: str  # behind the kind, and the size
    block: Block = (0, 0)
    size: Said | None = None  # of an allocation
    when: Condition | None = None

    def text(self) -> str:
        words = [self.kind, self.size.text if self.size is not None else "", self.words]
        words.append(self.when.text if self.when is not None else "")
        return " ".join(filter(None, words))


@dataclass(slots=True)
class Tape:
    steps: list[list[Statement]]
    repeats: bool  # the last step


def made(runs: Sequence[Taken], points: Sequence[Point]) -> Tape:
    """Raises PartError where the runs differ in more than sizes and thresholds, or where these
    cannot be told."""
    solver = Solver(points)
    pair = solver.alike() if len(points) > 1 else None
    if pair is not None:
        raise PartError(f"{pair[0]} and {pair[1]} cannot be told apart at these sizes")
    maker = _Maker(points, solver)
    count = min(len(run.steps) for run in runs)
    steps = [maker.step([run.steps[number] for run in runs], number) for number in range(count)]
    _add_loads(steps, maker.places, runs)
    repeats = False
    while len(steps) > 3 and _texts(steps[-1]) == _texts(steps[-2]):
        steps.pop()
        repeats = True
    return Tape(steps, repeats)


def _texts(step: list[Statement]) -> list[str]:
    return [each.text() for each in step]


class _Maker:
    """Steps, one after the other."""

    def __init__(self, points: Sequence[Point], solver: Solver) -> None:
        self._points, self._solver = points, solver
        self._blocks: list[dict[Block, Block]] = [{} for _ in points]  # of each run, as the tape's
        self._of: dict[Block, set[int]] = {}  # the runs that have a block
        # Of each run, where each of a step's acts is among its statements.
        self.places: list[list[dict[int, int]]] = []
        names = tuple(points[0])
        self._first = sorted(
            solver.terms[1:], key=lambda term: (term.names != names, len(term.names))
        )

    def step(self, steps: Sequence[Step], number: int) -> list[Statement]:
        try:
            self._meet([step.acts for step in steps], number)
            known = [[self._known(run, act) for act in step.acts] for run, step in enumerate(steps)]
            acts = merged(known)
        except PartError as error:
            raise PartError(f"step {number} is not the same at all sizes: {error}") from None
        statements: list[Statement] = []
        counts = [0] * len(steps)
        places: list[dict[int, int]] = [{} for _ in steps]
        for each in acts:
            statements.append(self._statement(each, number))
            for run in each.acts:
                places[run][counts[run]] = len(statements) - 1
                counts[run] += 1
        self.places.append(places)
        return statements

    def _meet(self, runs: list[list[Act]], number: int) -> None:
        """The step's blocks, by what is asked for alone."""
        asked = [[act for act in acts if act.kind not in _GONE] for acts in runs]
        made = [each for each in merged(asked) if each.any.kind == "alloc"]
        for place, each in enumerate(made):
            block = number, place
            for run, act in each.acts.items():
                self._blocks[run][act.block] = block
            self._of[block] = {*each.acts}

    def _known(self, run: int, act: Act) -> Act:
        """By the tape's block that it is of."""
        if act.kind != "alloc" and act.kind not in _GONE:
            return act
        return replace(act, key=(act.kind, *self._blocks[run][act.block]))

    def _statement(self, each: Merged, number: int) -> Statement:
        act, here = each.any, {*each.acts}
        if act.kind == "stage":
            statement = Statement("stage", act.stage)
        elif act.kind == "empty_cache":
            statement = Statement("empty_cache", "")
        elif act.kind == "alloc":
            run = next(iter(each.acts))
            words = act.what + (f" stream {act.stream}" if act.stream else "")
            statement = Statement("alloc", words, self._blocks[run][act.block])
            statement.size = self._size(each, number)
        else:
            run = next(iter(each.acts))
            block = self._blocks[run][act.block]
            statement = Statement(act.kind, _reference(block, number), block)
            if self._of[block] == here:
                return statement  # what there is not, is not freed
        if len(here) < len(self._points):
            met = [run in here for run in range(len(self._points))]
            statement.when = condition(self._first, self._points, met)
            if statement.when is None:
                raise PartError(f"of no size hangs what is asked for {where(act, number)}")
        return statement

    def _size(self, each: Merged, number: int) -> Said:
        values = {run: act.bytes for run, act in each.acts.items()}
        # What is asked for at some points is to be seen at two.
        said = self._solver.say(values) if len(values) > 1 or len(self._points) == 1 else None
        if said is None:
            at = "; ".join(
                f"{size} at {at_text(self._points[run])}" for run, size in values.items()
            )
            raise PartError(f"no expression has these bytes {where(each.any, number)}: {at}")
        return said


def _reference(block: Block, number: int) -> str:
    step, place = block
    if step == number:
        return str(place)
    if step == number - 1 and step > 0:
        return f"{place} of previous"
    return f"{place} of {step}"


def where(act: Act, number: int) -> str:
    moment = "while loading" if number == 0 else f"in {act.stage} of step {number}"
    return f"{moment}, near {act.line}" if act.line else moment


def at_text(point: Point) -> str:
    return " ".join(f"{name} {value}" for name, value in point.items())


def _add_loads(
    steps: list[list[Statement]], places: list[list[dict[int, int]]], runs: Sequence[Taken]
) -> None:
    """Each where all runs had as many segments as when it came; of several places the last, for
    code comes with a kernel, behind what that kernel writes to."""
    names = [[load[0] for load in run.loads] for run in runs]
    if any(each != names[0] for each in names):
        raise PartError("libraries come in another order from size to size")
    found: list[tuple[int, int, Statement]] = []
    # The first is the context, which is there before all else, and each card's own.
    for at, (code, size, _) in enumerate(runs[0].loads[1:], start=1):
        spans = [set(_before(run, at, number, places)) for number, run in enumerate(runs)]
        common = set.intersection(*spans) or spans[0]
        if common:
            step, place = max(common)
            found.append((step, place, Statement("load", f"{code} {size}")))
    for step, place, statement in sorted(found, key=lambda each: each[:2], reverse=True):
        steps[step].insert(place, statement)


def _before(
    run: Taken, load: int, of: int, places: list[list[dict[int, int]]]
) -> Iterator[tuple[int, int]]:
    """Before which statements there were as many segments as when it came, in the stage in which it
    did."""
    segments, before = run.loads[load][2], 0
    for number, step in enumerate(run.steps[: len(places)]):
        for at, after in enumerate(step.segments):
            begun, ended = step.loaded[at]
            if before == segments and at > 0 and begun <= load < ended:
                yield number, places[number][of][at]
            before = after
