"""Mutated runs and comparisons: the report is written, or they are refused in a line.

reports.py [COUNT [FIRST_SEED]]
"""

import contextlib
import io
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from campaign import ROOT, Case, Ended, program, refusal

sys.path.insert(0, str(ROOT / "plots"))
from vramfit_plots.__main__ import main

_RUNS = ROOT / "data" / "runs"
_ROWS = 12  # kept of a run's hundreds: those of one step's ops, and others
_NUMBERS = [0, -1, 1, 0.5, 2**63, 10**30, 1e-300, 1e300, -5.5]
_TEXTS = [
    "",
    "x",
    "a\nb",
    "\ud800",
    "$\\frac{1}$",
    "\u540d",
    "y" * 5000,
    "Training/llama2-7b",
    "virtual:h200",
]
_VALUES: list[Any] = [*_NUMBERS, *_TEXTS, None, True, [], {}, [[]], [None], {"a": {}}]


@cache
def _kept() -> list[Path]:
    return sorted(_RUNS.glob("*/*/*.json"))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key of a document."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in list(children):
        yield value, key
        if isinstance(child, (dict, list)):
            yield from _places(child)


def _mutate(random: Random, document: Any) -> None:
    places = list(_places(document))
    numbers = [at for at in places if type(at[0][at[1]]) in {int, float}]
    kind = random.random()
    if kind < 0.5 and numbers:  # stays a number, so that more than the door is tested
        container, key = random.choice(numbers)
        container[key] = type(container[key])(container[key] * random.choice([0, 0.5, 2, 1e6]))
        return
    container, key = random.choice(places)
    if kind < 0.65:
        del container[key]
    elif kind < 0.8 and isinstance(container, dict):
        container[random.choice([*container, "axes", "oom"])] = container[key]
    else:
        container[key] = random.choice(_VALUES)


def _shortened(random: Random, document: dict[str, Any]) -> dict[str, Any]:
    rows = document["benchmarks"]
    cases = {row["name"].rpartition("/")[0] for row in rows if row["name"].startswith("Ops/")}
    ops = random.choice(sorted(cases)) if cases else "Ops"
    kept = [row for row in rows if row["name"].startswith(ops)]
    return {**document, "benchmarks": [*kept, *random.sample(rows, min(_ROWS, len(rows)))]}


def _written(random: Random, folder: Path) -> list[str]:
    """A kept file, mutated, and how it is given to the report."""
    kept = random.choice(_kept())
    document = json.loads(kept.read_text())
    is_run = "benchmarks" in document
    if is_run:
        document = _shortened(random, document)
    for _ in range(random.randint(1, 3)):
        _mutate(random, document)
    path = folder / "data" / "runs" / "gpu" / "driver" / kept.name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document))
    for name in ("gpus.json", "overheads.json", "article", "models", "reference"):
        (folder / "data" / name).symlink_to(ROOT / "data" / name)
    others = [p for p in _kept() if not p.stem.endswith("-compare")]
    runs = [random.choice(others), path] if is_run else others[:2]  # beside each other, either way
    random.shuffle(runs)
    given = ["--run", str(runs[0]), "--measured", str(runs[1])]
    return [*given, "--data", str(folder / "data"), "--out", str(folder / "report")]


def check(random: Random) -> Case:
    with tempfile.TemporaryDirectory() as folder:
        arguments = _written(random, Path(folder))
        out, err = io.StringIO(), io.StringIO()
        start = time.monotonic()
        case = Case("python -m vramfit_plots")
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main(arguments)
        except Exception as error:  # what is looked for: it would be a traceback
            case.kind, case.broken = "failed", [repr(error)[:300]]
            return case
    case.seconds = time.monotonic() - start
    case.rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    said = Ended(status, b"", err.getvalue().encode("utf-8", "replace"), case.seconds, case.rss)
    case.kind = {0: "written", 2: "refused"}.get(status, "failed")
    if status == 2:
        case.broken = refusal(said)
    elif status or said.err:
        case.broken = [f"exit {status}: {said.err[:300]!r}"]
    return case


if __name__ == "__main__":
    sys.exit(program("reports", check))
