"""An answer beside what was played: what data/questions.jsonl keeps of it.

A line has the question's number, the type, the card and what was asked; and where a stage took
something else, by how many bytes the answer is more (`off`, allocated and reserved, by step and
stage), relative to the highest peaks (`relative`), and the config; or why `fit` `refused`, or
PyTorch `failed`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from programs import ROOT, read_jsonl
from vramfit_plots.units import number, percent

from random_questions.answers import Peaks

KEPT = ROOT / "data" / "questions.jsonl"
LEAST_EQUAL = 0.95  # of those that both answered
LEAST_ANSWERED = 0.5  # of those that were asked
MOST_OFF = (0.003, 0.01)  # allocated, reserved

Line = dict[str, Any]


def compared(played: Mapping[str, Any], answer: Peaks | str, card: str) -> Line:
    line = {key: played[key] for key in ("question", "type", "asked")}
    line["card"] = card
    if "failed" in played:
        return {**line, "failed": played["failed"]}
    if isinstance(answer, str):
        return {**line, "refused": answer}
    took: Peaks = played["peaks"]
    said = {stage: answer.get(stage, [0, 0]) for stage in took}
    off = {stage: _difference(said[stage], peaks) for stage, peaks in took.items()}
    off = {stage: difference for stage, difference in off.items() if any(difference)}
    if not off:
        return line
    relative = [
        mine / theirs - 1 for mine, theirs in zip(_highest(said), _highest(took), strict=True)
    ]
    return {**line, "config": played["config"], "off": off, "relative": relative}


def _difference(mine: list[int], theirs: list[int]) -> list[int]:
    return [a - b for a, b in zip(mine, theirs, strict=True)]


def _highest(peaks: Peaks) -> list[int]:
    return [max(each[level] for each in peaks.values()) for level in (0, 1)]


@dataclass(frozen=True)
class Sum:
    asked: int
    failed: int
    refused: int
    equal: int  # every stage, allocated and reserved, to the byte
    worst: tuple[float, float]  # of the highest peaks: allocated, reserved
    types: int

    @property
    def answered(self) -> int:
        return self.asked - self.failed - self.refused

    @property
    def is_good(self) -> bool:
        enough = self.answered >= LEAST_ANSWERED * self.asked
        near = all(worst <= most for worst, most in zip(self.worst, MOST_OFF, strict=True))
        return enough and near and self.equal >= LEAST_EQUAL * self.answered

    def __str__(self) -> str:
        share = percent(self.equal / max(self.answered, 1), 1, signed=False)
        allocated, reserved = (percent(each, 2, signed=False) for each in self.worst)
        return (
            f"{number(self.asked)} questions of {self.types} types: {number(self.failed)} do not "
            f"run under PyTorch, {number(self.refused)} are refused; of {number(self.answered)} "
            f"answers {number(self.equal)} ({share}) are equal to the byte in every stage, the "
            f"highest peaks within {allocated} allocated, {reserved} reserved"
        )


def summed(lines: Iterable[Line]) -> Sum:
    lines = list(lines)
    off = [line for line in lines if "off" in line]
    failed = sum("failed" in line for line in lines)
    refused = sum("refused" in line for line in lines)
    allocated, reserved = (
        max((abs(line["relative"][level]) for line in off), default=0.0) for level in (0, 1)
    )
    return Sum(
        asked=len(lines),
        failed=failed,
        refused=refused,
        equal=len(lines) - failed - refused - len(off),
        worst=(allocated, reserved),
        types=len({line["type"] for line in lines}),
    )


def told(line: Line) -> str:
    """In a line for a reader; nothing where it is equal."""
    flags = " ".join(f"{name}:{value}" for name, value in line["asked"].items())
    head = f"{line['question']} {line['type']} {line['card']} {flags}"
    if "off" in line:
        off = ", ".join(f"{stage} {a:+,} {r:+,}" for stage, (a, r) in line["off"].items())
        return f"{head}: {off}"
    return ""


def reasons(lines: Iterable[Line]) -> list[str]:
    """Why questions were refused or did not run, the most frequent first."""
    counts = Counter(
        (what, line["type"], line[what])
        for line in lines
        for what in ("failed", "refused")
        if what in line
    )
    return [f"{count} {what}, {kind}: {why}" for (what, kind, why), count in counts.most_common()]


def kept() -> list[Line]:
    """Those that are committed."""
    return list(read_jsonl(KEPT))
