"""The cases that are recorded again: those of files that were recorded before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import BadInputError, read_jsonl
from vramfit_plots.accuracy.names import of_companions, of_more, row_names

MIB = 2**20


@dataclass(frozen=True)
class Case:
    setting: Mapping[str, Any]  # as the measuring program is given it
    more: bool  # measure_pytorch_more.py measures it
    taken: int  # bytes of the card when it was recorded; 0 where that is not known

    @property
    def names(self) -> list[str]:
        return row_names(self.setting, more=self.more)

    @property
    def packages(self) -> set[str]:
        """What it needs beside torch and transformers."""
        needed = {"peft"} if self.setting.get("lora") else set()
        if self.more:
            needed |= {"bitsandbytes", "peft", "accelerate"}  # the program names them all
        return needed


def _readings(value: Any) -> Iterator[Mapping[str, int]]:
    """Every reading of a result, however deep."""
    if isinstance(value, dict):
        if isinstance(value.get("device_used"), int):
            yield value
        for child in value.values():
            yield from _readings(child)
    elif isinstance(value, list):
        for child in value:
            yield from _readings(child)


def beyond_allocator(reading: Mapping[str, int]) -> int:
    """What the card lost to context and libraries."""
    return reading["device_used"] - reading["reserved"]


def _taken(setting: Mapping[str, Any], result: Any) -> int:
    readings = list(_readings(result))
    taken = max((reading["device_used"] for reading in readings), default=0)
    # A search fills what it is given, and its largest readings are not kept.
    beyond = max((beyond_allocator(reading) for reading in readings), default=0)
    return max(taken, setting.get("cap_mib", 0) * MIB + beyond)


def _case_of(line: Any, source: str) -> Case | None:
    """None where the line is of no case that a model's shape is given for, of several GPUs or of a
    trainer."""
    setting = line.get("case") if isinstance(line, dict) else None
    if (
        not isinstance(setting, dict)
        or "arch" not in setting
        or {"gpus", "trainer"} & setting.keys()
    ):
        return None
    case = Case(setting, of_more(source), _taken(setting, line.get("result")))
    if not case.names:
        raise ValueError("points")
    return case


def _cases_of(path: Path) -> Iterator[Case]:
    for number, line in enumerate(read_jsonl(path), 1):
        try:
            case = _case_of(line, path.stem)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInputError(f"{path}:{number}: a case without {error}") from None
        if case:
            yield case


def read_cases(given: Path) -> list[Case]:
    """Of a file, or of a folder's files. What was recorded twice is there once."""
    files = sorted(given.glob("*.jsonl")) if given.is_dir() else [given]
    files = [file for file in files if not of_companions(file.stem)]
    known: set[str] = set()
    cases = []
    for case in (case for file in files for case in _cases_of(file)):
        if not known.issuperset(case.names):
            cases.append(case)
        known.update(case.names)
    if not cases:
        raise BadInputError(f"{given}: holds no case of PyTorch with the shape of its model")
    return cases


def chosen(cases: list[Case], only: str) -> list[Case]:
    found = [case for case in cases if any(only in name for name in case.names)]
    if not found:
        raise BadInputError(
            f"no case has '{only}' in its name; there are {len(cases)}, such as {cases[0].names[0]}"
        )
    return found


def why_not(case: Case, memory: int, packages: Mapping[str, str]) -> str:
    """Why this machine cannot run it; "" where it can. `memory` is the card's, in bytes."""
    if case.taken > memory:
        return f"took {case.taken / 1e9:.1f} GB, and this card has {memory / 1e9:.1f}"
    missing = sorted(case.packages - packages.keys())
    return f"needs {', '.join(missing)}" if missing else ""
