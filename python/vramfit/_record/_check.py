"""Whether a run at a size that a tape is not made from is what the tape says."""

from __future__ import annotations

from vramfit._record._solve import Point
from vramfit._record._steps import Act, Block, Step, Taken
from vramfit._record._tape import Statement, Tape, where


def checked(tape: Tape, run: Taken, point: Point) -> str | None:
    """Where it is not, for people; None: nowhere."""
    check = _Check(tape, point)
    for number, step in enumerate(run.steps):
        if number >= len(tape.steps) and not tape.repeats:
            return None
        why = check.step(step, number)
        if why is not None:
            return why
    return None


class _Check:
    def __init__(self, tape: Tape, point: Point) -> None:
        self._tape, self._point = tape, point
        self._blocks: dict[Block, Block] = {}  # of the run, by the tape's

    def step(self, step: Step, number: int) -> str | None:
        own = min(number, len(self._tape.steps) - 1)  # that the statements' blocks are numbered by
        acts = iter(step.acts)
        for each in self._tape.steps[own]:
            block = each.block
            if not each.words.endswith(" of 0"):
                block = block[0] - own + number, block[1]
            if not self._is_there(each, block):
                continue
            act = next(acts, None)
            if act is None:
                return f"fewer acts in step {number}"
            why = self._difference(each, block, act)
            if why is not None:
                return f"{why}, {where(act, number)}"
        act = next(acts, None)
        return None if act is None else f"further acts, {where(act, number)}"

    def _is_there(self, each: Statement, block: Block) -> bool:
        if each.kind == "load" or (each.when is not None and not each.when.holds(self._point)):
            return False
        return each.kind not in ("free", "drop") or block in self._blocks

    def _difference(self, each: Statement, block: Block, act: Act) -> str | None:
        if act.kind != each.kind or (act.kind == "stage" and act.stage != each.words):
            return f"another act, {act.kind} for {each.text()}"
        if each.size is not None:
            self._blocks[block] = act.block
            says = each.size.at(self._point)
            if says != act.bytes:
                return f"{act.bytes} bytes where {each.size.text} is {says}"
        if act.kind in ("free", "drop") and self._blocks[block] != act.block:
            return "another order of what is freed"
        return None
