"""A run of `bench`: Google Benchmark's JSON as context and a frame of counters."""

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from vramfit_plots.files import BadInputError
from vramfit_plots.rows import RowName, family, parse
from vramfit_plots.schemas import read_json

# Google Benchmark appends how it ran to a name; our own axes never look like this.
_HOW_IT_RAN = re.compile(r"(/(iterations|repeats|min_time|threads):[^/]+|/(real|manual)_time)+$")
_MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
_COMPARISON = "-compare.json"  # ends the name of what is no run of bench
_CARDS_OWN = "pred_device_used"
_OF_PREDICTIONS = ("pytorch_optimizers", "axes")  # lines of the context
_PEAK = re.compile(r"peak in ([^;]+)")

_MAKE_ONE = "make one with `build/bench --benchmark_out=FILE --benchmark_out_format=json`"


UNDATED = datetime.min.replace(tzinfo=timezone.utc)  # before all that have a date


def instant(text: str) -> datetime:
    """Of ISO 8601: Google Benchmark writes local time with its offset, so texts are in no order.
    In UTC, which is also meant where no offset is written. UNDATED where the text
    is no date."""
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
        if found.tzinfo is None:
            return found.replace(tzinfo=timezone.utc)
        return found.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return UNDATED


@dataclass(frozen=True)
class Run:
    """`rows` is indexed by row name; its columns are counters, and `label`. NaN is absent."""

    path: Path
    context: Mapping[str, str]
    rows: pd.DataFrame

    @property
    def device(self) -> str:
        """As bench spells it: "virtual:h200", "cpu", "cuda:0 NVIDIA H200"."""
        return self.context.get("device", "")

    def names(self, *families: str) -> list[str]:
        return [name for name in self.rows.index if family(name) in families]

    def parse(self, row: str) -> RowName:
        return parse(row, self.fact("axes").split())

    def fact(self, key: str) -> str:
        """A line of the context; throws BadInputError where the run is too old to have it."""
        if key not in self.context:
            raise BadInputError(f"{self.path}: context: no '{key}'; {_MAKE_ONE}")
        return self.context[key]

    @property
    def measured(self) -> bool:
        return self.context.get("evidence") == "measured"


def row_name(benchmark_name: str) -> str:
    return _HOW_IT_RAN.sub("", benchmark_name)


def _milliseconds(row: Mapping[str, Any]) -> float | None:
    """CPU time of one iteration."""
    factor = _MILLISECONDS.get(row.get("time_unit", "ns"))
    time = row.get("cpu_time")
    return time * factor if factor and isinstance(time, (int, float)) else None


def _counters(row: Mapping[str, Any]) -> dict[str, float]:
    """Google Benchmark's own numbers come along: their names are never ours."""
    return {
        key: float(value)
        for key, value in row.items()
        if isinstance(value, (int, float)) and math.isfinite(value)
    }


def peak_stage(label: str) -> str:
    """A row's label says where its peak is: "backward of step 2". "" where it does not."""
    match = _PEAK.search(label)
    return match[1].strip() if match else ""


def beside(measured: Run, predicted: Run) -> Run:
    """One run of both, under the measured one's context. A row that both hold is predicted as the
    newer program does, but for what the card loses: that rests on the measured card's profile."""
    own = predicted.rows
    if _CARDS_OWN in measured.rows:
        # Rows without a prediction, such as Estimate's alone, have no such column.
        predictions = own.reindex(columns=[_CARDS_OWN])[_CARDS_OWN]
        kept = measured.rows[_CARDS_OWN].combine_first(predictions)
        own = own.drop(columns=_CARDS_OWN, errors="ignore").join(kept)
    names = [*own.index, *measured.rows.index.difference(own.index, sort=False)]
    predicted_by = predicted.context.get("commit", "unknown")
    context = {**predicted.context, **measured.context, "predicted_by": predicted_by}
    context |= {key: predicted.context[key] for key in _OF_PREDICTIONS if key in predicted.context}
    return Run(measured.path, context, own.combine_first(measured.rows).reindex(names))


def _newest(files: Iterable[Path], gpus: Container[str] | None = None) -> Path | None:
    """The file with the latest date in its context; of one date the last by name."""
    contexts = {path: read_json(path, "dated")["context"] for path in sorted(files)}
    dates = {
        path: instant(context["date"])
        for path, context in contexts.items()
        if gpus is None or context.get("gpu") in gpus
    }
    return max(reversed(dates), key=dates.__getitem__, default=None)


def kept_runs(folder: Path) -> list[Path]:
    """The files of the measured runs under data/runs."""
    files = sorted(folder.glob("*/*/*.json"))
    return [path for path in files if not path.name.endswith(_COMPARISON)]


def newest_run(folder: Path, gpus: Container[str] | None = None) -> Path | None:
    """The latest measured run under data/runs, on any GPU or on one that is titled so."""
    return _newest(kept_runs(folder), gpus)


def newest_comparison(folder: Path) -> Path | None:
    """The latest comparison with PyTorch under data/runs."""
    return _newest(folder.glob(f"*/*/*{_COMPARISON}"))


_TIMES = ("seconds", "_per_second", "real_time", "cpu_time", "milliseconds", "of_bound", "bubble")
_MORE_IS_BETTER = ("max_batch", "ledger_equal")


def _figure(counter: str, values: Sequence[Any]) -> Any:
    """One for a row's repetitions, by the rules of build/compare: of memory and flags the worst, of
    a time the median, of a text the first."""
    if isinstance(values[0], str):
        return values[0]
    if counter.endswith(_TIMES):
        return median(values)
    return min(values) if counter.endswith(_MORE_IS_BETTER) else max(values)


def _together(repetitions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A counter that a repetition lacks, or that is None, is of the others; None where of none."""
    counters = dict.fromkeys(counter for row in repetitions for counter in row)
    found = {
        counter: [row[counter] for row in repetitions if row.get(counter) is not None]
        for counter in counters
    }
    return {
        counter: _figure(counter, values) if values else None for counter, values in found.items()
    }


def load_run(path: Path) -> Run:
    """Throws BadInputError where the file holds no run of ours."""
    if not path.exists():
        raise BadInputError(f"{path}: no such file; {_MAKE_ONE}")
    document = read_json(path, "bench")
    repetitions: dict[str, list[dict[str, Any]]] = {}
    for benchmark in document["benchmarks"]:
        if benchmark.get("run_type") == "aggregate":
            continue
        repetitions.setdefault(row_name(benchmark["name"]), []).append(
            {
                **_counters(benchmark),
                "milliseconds": _milliseconds(benchmark),
                "label": benchmark.get("label", ""),
            }
        )
    if not repetitions:
        raise BadInputError(f"{path}: holds no rows; did --benchmark_filter leave any?")
    return Run(
        path=path,
        context={key: str(value) for key, value in document["context"].items()},
        rows=pd.DataFrame.from_dict(
            {name: _together(every) for name, every in repetitions.items()}, orient="index"
        ),
    )
