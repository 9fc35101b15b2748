"""A tape of runs at several points: the same acts, sizes as expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vramfit._bad_input import bad_input
from vramfit._record._solve import Point, Said, Solver
from vramfit._record._steps import Act, Step, Taken


@dataclass(frozen=True, slots=True)
class Statement:
    words: tuple[str, ...]
    size: Said | None = None  # of an allocation
    what: str = ""
    line: str = ""

    def text(self) -> str:
        if self.size is None:
            return " ".join(self.words)
        return " ".join((self.words[0], self.size.text, self.what, *self.words[1:]))


@dataclass(slots=True)
class Tape:
    steps: list[list[Statement]]
    repeats: bool  # the last step


class PartError(Exception):
    """Where two runs part, for people."""


def made(runs: Sequence[Taken], points: Sequence[Point]) -> Tape:
    """Raises BadInput where the runs differ in more than sizes, or a size is of no point."""
    solver = Solver(points)
    _refuse_alike(solver, points)
    count = min(len(run.steps) for run in runs)
    steps = []
    for number in range(count):
        try:
            steps.append(_step([run.steps[number] for run in runs], number, solver, points))
        except PartError as error:
            raise bad_input(f"record: {error}") from None
    _add_loads(steps, runs)
    repeats = False
    while len(steps) > 3 and _alike(steps[-1], steps[-2]):
        steps.pop()
        repeats = True
    return Tape(steps, repeats)


def _refuse_alike(solver: Solver, points: Sequence[Point]) -> None:
    pair = solver.alike()
    if pair is not None and len(points) > 1:
        raise bad_input(
            f"record: {pair[0]} and {pair[1]} cannot be told apart at these sizes: such as "
            "--vary batch=2,3,5 --vary seq=128,192,256"
        )


def _alike(one: list[Statement], other: list[Statement]) -> bool:
    return [each.text() for each in one] == [each.text() for each in other]


def _step(
    steps: Sequence[Step], number: int, solver: Solver, points: Sequence[Point]
) -> list[Statement]:
    _refuse_parting(steps, number, points)
    statements, stage = [], ""
    for acts in zip(*(step.acts for step in steps), strict=True):
        first = acts[0]
        if first.words[0] == "stage":
            stage = first.words[1]
        size = None
        if first.bytes:
            values = tuple(act.bytes for act in acts)
            size = solver.say(values)
            if size is None:
                raise PartError(
                    f"{', '.join(map(str, values))} bytes {_where(stage, number, first)} are no "
                    f"sum of a few products of {' and '.join(points[0])}; another size of each "
                    "(--vary) may tell"
                )
        statements.append(Statement(first.words, size, first.what, first.line))
    return statements


def _refuse_parting(steps: Sequence[Step], number: int, points: Sequence[Point]) -> None:
    first = steps[0]
    for other, point in zip(steps[1:], points[1:], strict=True):
        at = _first_difference(first.acts, other.acts)
        if at is None:
            continue
        raise PartError(
            f"what is asked for at {at_text(point)} is not what is asked for at "
            f"{at_text(points[0])}, from act {at} of step {number} on, "
            f"{_stage_and_line(first, at, number)}; sizes on one side of what decides there"
        )


def _first_difference(one: list[Act], other: list[Act]) -> int | None:
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a.words != b.words:
            return at
    return None if len(one) == len(other) else min(len(one), len(other))


def _stage_and_line(step: Step, at: int, number: int) -> str:
    stages = [act.words[1] for act in step.acts[: at + 1] if act.words[0] == "stage"]
    near = next((act for act in step.acts[at:] if act.line), None)
    near = near or next((act for act in reversed(step.acts[:at]) if act.line), Act(()))
    return _where(stages[-1] if stages else "load", number, near)


def _where(stage: str, number: int, act: Act) -> str:
    moment = "while loading" if number == 0 else f"in {stage} of step {number}"
    return f"{moment}, near {act.line}" if act.line else moment


def at_text(point: Point) -> str:
    return " ".join(f"{name} {value}" for name, value in point.items())


def checked(tape: Tape, run: Taken, point: Point) -> str | None:
    """Where a run at another point is not what the tape says; None: nowhere."""
    for number, step in enumerate(run.steps):
        says = _statements(tape, number)
        if says is None:
            return None
        acts = iter(step.acts)
        for statement in (each for each in says if each.words[0] != "load"):
            act = next(acts, None)
            stage = statement.words[1] if statement.words[0] == "stage" else ""
            if act is None or act.words != statement.words:
                return f"other acts from {_stage_and_line(step, _place(step, act), number)} on"
            if statement.size is not None and statement.size.at(point) != act.bytes:
                return (
                    f"{act.bytes} bytes where {statement.size.text} is "
                    f"{statement.size.at(point)}, {_stage_and_line(step, _place(step, act), number)}"
                    f"{stage}"
                )
        if next(acts, None) is not None:
            return f"more acts at the end of step {number}"
    return None


def _place(step: Step, act: Act | None) -> int:
    return next((at for at, each in enumerate(step.acts) if each is act), len(step.acts) - 1)


def _statements(tape: Tape, number: int) -> list[Statement] | None:
    if number < len(tape.steps):
        return tape.steps[number]
    return tape.steps[-1] if tape.repeats else None


def _add_loads(steps: list[list[Statement]], runs: Sequence[Taken]) -> None:
    """Each where all runs had as many segments as when it came; of several places the last, for
    code comes with a kernel, behind what that kernel writes to."""
    names = [[load[0] for load in run.loads] for run in runs]
    if any(each != names[0] for each in names):
        raise bad_input("record: libraries come in another order from size to size")
    places: list[tuple[int, int, Statement]] = []
    for at, (code, size, _) in enumerate(runs[0].loads):
        if at == 0:
            continue  # the context, which is there before all else, and each card's own
        spans = [set(_places(run, at)) for run in runs]
        common = set.intersection(*spans) or spans[0]
        step, place = max(common, default=(len(steps) - 1, len(steps[-1])))
        if step < len(steps):
            places.append((step, place, Statement(("load", code, str(size)))))
    for step, place, statement in reversed(places):
        steps[step].insert(place, statement)


def _places(run: Taken, load: int) -> Iterator[tuple[int, int]]:
    """Before which acts there were as many segments as when it came, in the stage in which it did."""
    segments, before = run.loads[load][2], 0
    for number, step in enumerate(run.steps):
        for at, after in enumerate(step.segments):
            begun, ended = step.loaded[at]
            if before == segments and at > 0 and begun <= load < ended:
                yield number, at
            before = after
