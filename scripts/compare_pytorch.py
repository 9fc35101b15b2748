#!/usr/bin/env python3
"""Trains the models of data/compare.json with bench and with PyTorch, in turn on this machine's
GPU, and says how fast each is and with how much memory.

Each side of each case has a process of its own. What they took is in
data/runs/<gpu>/<driver>-<cuda>/<date>-<commit>-compare.json, written after every process.
"""

import argparse
import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from compare.cases import MODES, Case, read_cases
from compare.sides import PYTORCH_SIDE, Result, Sides
from compare.table import table_text, why_no_figures
from programs import ROOT, Arguments, BadInputError, file_or_folder, program, writing
from runs import RUNS, new_file
from torch_python import answer

# What bench says of the GPU and itself.
_BENCH_FACTS = ("commit", "gpu", "driver", "cuda", "cublas", "cudnn", "cuda_module_loading")


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Comparison:
    """What has been measured so far, kept in its file."""

    def __init__(self, command: str, pytorch: dict[str, str], runs: Path):
        self.command, self.pytorch, self.runs = command, pytorch, runs
        self.document: dict[str, Any] = {}
        self.file: Path | None = None

    def open(self, bench: dict[str, str]) -> None:
        """Called once bench has said what it runs on."""
        context = {
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            **{fact: bench[fact] for fact in _BENCH_FACTS if fact in bench},
            **self.pytorch,
            "command": self.command,
        }
        for variable in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
            if os.environ.get(variable):
                context[variable.lower()] = os.environ[variable]
        self.document = {"schema": 1, "context": context, "cases": []}
        self.file = new_file(context, "-compare", self.runs)

    def begin(self, case: Case, ours: Result) -> None:
        self.document["cases"].append({"row": case.row, "title": case.title, "vramfit": ours})
        self._write()

    def add(self, mode: str, result: Result) -> None:
        self.document["cases"][-1][mode] = result
        self._write()

    def _write(self) -> None:
        """All or nothing: a kill leaves the file as it was."""
        beside = self.file.with_suffix(".json.part")
        beside.write_text(json.dumps(self.document, indent=2) + "\n")
        beside.replace(self.file)


def report(name: str, result: Result) -> None:
    speed = result.get("tokens_per_second")
    said = why_no_figures(result) or (f"{speed:,.0f} tokens/s" if speed else "memory only")
    note(f"  {name:<16}{said} ({result['seconds']:.0f} s)")


def compare(cases: list[Case], sides: Sides, comparison: Comparison) -> None:
    for number, case in enumerate(cases, 1):
        note(f"[{number}/{len(cases)}] {case.title}")
        ours, bench = sides.ours(case)
        if comparison.file is None:
            if not bench:  # bench runs nothing at all here, and says why
                raise BadInputError(ours["error"])
            comparison.open(bench)
        comparison.begin(case, ours)
        report("vramfit", ours)
        for mode in case.modes:
            result = sides.pytorch(case, mode)
            comparison.add(mode, result)
            report(MODES[mode], result)


def failures(document: dict[str, Any]) -> int:
    sides = [entry.get(side, {}) for entry in document["cases"] for side in ("vramfit", *MODES)]
    return sum("error" in side for side in sides)


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="python3", help="that has torch (%(default)s)")
    parser.add_argument("--only", default="", help="cases with this in their row's name")
    parser.add_argument("--check", action="store_true", help="only whether PyTorch can be run")
    parser.add_argument("--bench", type=file_or_folder, default=ROOT / "build/bench")
    parser.add_argument("--cases", type=file_or_folder, default=ROOT / "data/compare.json")
    parser.add_argument("--runs", type=file_or_folder, default=RUNS, help="where results go")
    parser.add_argument("--work", type=file_or_folder, default=ROOT / "build/compare", help="logs")
    return parser.parse_args(argv)


@program("compare-pytorch")
def main(argv: list[str] | None = None) -> int:
    given = arguments(argv)
    cases = read_cases(given.cases, given.only)
    pytorch = answer(given.python, PYTORCH_SIDE, "--versions")
    del pytorch["gpu"]  # bench names it
    if given.check:
        return 0
    if not given.bench.exists():
        raise BadInputError(f"{given.bench}: is not built; make build")
    command = "make compare-pytorch" + (f" ONLY={given.only}" if given.only else "")
    comparison = Comparison(command, pytorch, given.runs)
    with writing():
        compare(cases, Sides(given.bench, given.python, given.work), comparison)
    print(f"\n{table_text(comparison.document)}\n")
    file = comparison.file
    print(f"The comparison is in {file.relative_to(ROOT) if ROOT in file.parents else file}")
    failed = failures(comparison.document)
    if failed:
        note(f"compare-pytorch: error: {failed} failed; what they said is in {given.work}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
