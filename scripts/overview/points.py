"""What each runtime was predicted and measured to take of a card, in all: the allocator's share,
context, libraries, whatever else the card lost to the process. Bytes.

Committed measurements, all of H200s; predictions are asked of the program now, but for scripts
under `vramfit run`, of which data/exact.jsonl has what they took, and vramfit's own step, whose
kept run has the prediction beside each measurement."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from exact.cases import every_case
from exact.comparison import kept
from league.rivals import engines
from league.rivals.__main__ import device_used
from programs import ROOT, read_json
from runs import RUNS, of_card
from vramfit_plots.accuracy.comparison import PEAK_KINDS, compare

_LEVEL = "device_used"


@dataclass(frozen=True)
class Point:
    predicted: int
    measured: int

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


@dataclass(frozen=True)
class Runtime:
    name: str
    asked: str  # how a user asks
    points: list[Point]

    def within(self, error: float) -> int:
        return sum(abs(point.error) <= error for point in self.points)

    @property
    def worst(self) -> float:
        return max((point.error for point in self.points), key=abs)


def _scripts() -> Iterator[Point]:
    by_name = {case.name: case for case in every_case()}
    for line in kept():
        measured = by_name[line["name"]].measured
        readings = {name: read[_LEVEL] for name, read in measured.items() if _LEVEL in read}
        if "differences" not in line or not readings:
            continue
        off = {name: levels.get(_LEVEL, 0) for name, levels in line["differences"].items()}
        played = (value + off.get(name, 0) for name, value in readings.items())
        yield Point(max(played), max(readings.values()))


def _pytorch() -> Iterator[Point]:
    for several in (False, True):
        accuracy = compare(ROOT / "build" / "fit", ROOT / "data", several_gpus=several)
        figures = accuracy.figures
        chosen = figures[figures["kind"] == PEAK_KINDS[_LEVEL]]
        for predicted, measured in zip(chosen["predicted"], chosen["measured"], strict=True):
            yield Point(int(predicted), int(measured))


def _engines(runs: Iterable[engines.Run]) -> Iterator[Point]:
    for run in runs:
        yield Point(device_used(run.question), run.measured)


def _own() -> Iterator[Point]:
    """But for rows that ran out of memory, as predicted: nobody knows what they want."""
    newest = of_card(RUNS / "nvidia-h200")[-1]
    for row in read_json(newest)["benchmarks"]:
        if f"pred_{_LEVEL}" in row and f"mem_{_LEVEL}" in row and not row["oom"]:
            yield Point(int(row[f"pred_{_LEVEL}"]), int(row[f"mem_{_LEVEL}"]))


_RUNTIMES: list[tuple[str, str, Callable[[], Iterator[Point]]]] = [
    ("your own script", "vramfit run", _scripts),
    ("PyTorch", "vramfit MODEL CARD", _pytorch),
    ("llama.cpp", "--runtime llama.cpp", lambda: _engines(engines.llamacpp())),
    ("vLLM", "--runtime vllm", lambda: _engines(engines.vllm())),
    ("our own step", "--runtime vramfit", _own),
]


def every_runtime() -> list[Runtime]:
    return [Runtime(name, asked, list(points())) for name, asked, points in _RUNTIMES]
