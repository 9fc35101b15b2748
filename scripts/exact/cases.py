"""Reference cases that one GPU was measured with, and what was read of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import ROOT, BadInputError, read_jsonl
from vramfit_plots.accuracy.environment import Environment
from vramfit_plots.accuracy.names import of_companions, of_more
from vramfit_plots.catalogues import load_cards

REFERENCE = ROOT / "data" / "reference"
LEVELS = ("alloc", "peak", "reserved", "peak_reserved", "device_used")
# How kinds of cases follow each other in tables.
KINDS = (
    "training",
    "generation",
    "trainers",
    "experts",
    "ranks",
    "quantised",
    "compiled",
    "largest batch",
)
_MODES = {"train": "training", "infer": "generation", "maxbatch": "largest batch"}
_UNNAMED = {"arch", "timeout"}

Readings = dict[str, Mapping[str, int]]  # levels in bytes, by stage


@dataclass(frozen=True)
class Case:
    file: str  # of data/reference, without its ending
    card: str  # of data/gpus.json
    program: str  # the module of data/reference that measured it
    setting: Mapping[str, Any]
    measured: Readings

    @property
    def name(self) -> str:
        return "/".join([self.file, *_parts(self.setting)])

    @property
    def kind(self) -> str:
        case = self.setting
        if "trainer" in case:
            return "trainers"
        if "gpus" in case:
            return "ranks"
        if case.get("compile"):
            return "compiled"
        if case.get("quant") or "8bit" in case.get("opt", ""):
            return "quantised"
        if any("expert" in key and value for key, value in case["arch"].items()):
            return "experts"
        return _MODES[case["mode"]]


def _parts(setting: Mapping[str, Any]) -> Iterator[str]:
    """Of a name: values, with their keys where they do not speak for themselves."""
    for key, value in setting.items():
        if key in _UNNAMED or value in (None, False, 0):
            continue
        if isinstance(value, Mapping):
            yield from _parts(value)
        elif isinstance(value, str):
            yield value
        elif value is True:
            yield key
        elif isinstance(value, list):
            yield ",".join("x".join(map(str, v)) if isinstance(v, list) else v for v in value)
        else:
            yield f"{key}:{value}"


def readings(result: Mapping[str, Any]) -> Readings:
    """Every reading of what a measuring program returned. The largest batch is one as well."""
    found = {name: value for name, value in result.items() if _is_reading(value)}
    found |= result.get("stages", {})
    for point in result.get("points", ()):
        name = f"{point['b']}x{point['s']}"
        found[name] = point
        if "timed" in point:
            found[f"{name}.timed"] = point["timed"]
    found = {name: {level: read[level] for level in LEVELS} for name, read in found.items()}
    if "max_batch" in result:
        found["max_batch"] = {"batch": result["max_batch"]}
    return found


def _is_reading(value: Any) -> bool:
    return isinstance(value, Mapping) and "alloc" in value


def _program(file: str, setting: Mapping[str, Any]) -> str:
    if of_companions(file):
        return "measure_pytorch_companions"
    if "trainer" in setting:
        return "measure_pytorch_trainers"
    if "gpus" in setting:
        return "measure_pytorch_ranks"
    return "measure_pytorch_more" if of_more(file) else "measure_pytorch"


def _cases_of(path: Path) -> Iterator[Case]:
    """None of a file of several GPUs."""
    env: dict[str, Any] = {}
    card = ""
    for line in read_jsonl(path):
        if "env" in line:
            env = line["env"]
            card = Environment(path, env).card(load_cards(ROOT / "data" / "gpus.json"))
        setting = line.get("case")
        if not isinstance(setting, dict) or "arch" not in setting:
            continue
        if "gpus" in setting and "process_group" not in env:
            continue
        measured = readings(line["result"])
        if measured:  # otherwise it did not run to its end
            program = _program(path.stem, setting)
            yield Case(path.stem, card, program, setting, measured)


def every_case() -> list[Case]:
    files = sorted(REFERENCE.glob("*.jsonl"))
    return [case for file in files for case in _cases_of(file)]


def chosen(only: str) -> list[Case]:
    """Those with `only` in their name."""
    every = every_case()
    found = [case for case in every if only in case.name]
    if not found:
        raise BadInputError(
            f"no case has '{only}' in its name; there are {len(every)}, such as {every[0].name}"
        )
    return found
