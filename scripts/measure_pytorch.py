#!/usr/bin/env python3
"""Measures PyTorch's reference cases on this machine's GPU with the PyTorch that it has, and keeps
them in data/reference/<gpu>/<torch>/<date>-<commit>.jsonl, with PyTorch's own share of the card.

The cases are those of data/reference, and its programs measure them, each in a process of its own.
Those too large for the card are left out. Run again after a kill, it goes on where it stopped.
"""

import argparse
import json
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from programs import ROOT, Arguments, BadInputError, file_or_folder, program, writing
from pytorch.cases import Case, chosen, read_cases, why_not
from pytorch.overhead import overhead, smallest_two
from pytorch.recording import Line, Recording
from runs import slug, unused
from torch_python import answer

REFERENCE = ROOT / "data" / "reference"
_FACTS = Path(__file__).resolve().parent / "pytorch" / "facts.py"
_FACTS_KEPT = ("gpu", "driver", "torch", "transformers", "cuda", "cudnn")
_HELD_MIB = 64  # by others, at most: what the card loses is what is measured


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def commit() -> str:
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def environment(facts: dict[str, Any]) -> dict[str, str]:
    """A recording's first line; the measuring program adds what it says of itself."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        **{key: facts[key] for key in _FACTS_KEPT},
        **facts["packages"],
    }


def outcome(line: Line) -> str:
    result = line["result"]
    if "params" in result:
        return f"measured ({result.get('seconds', 0):.0f} s)"
    if "oom" in result:
        return "out of memory"
    return "not done in time" if "timeout" in result else f"failed: {result.get('error', '?')}"


def runnable(cases: list[Case], facts: dict[str, Any]) -> list[Case]:
    """Without those that this machine cannot run, of which it is said why."""
    reasons = [why_not(case, facts["memory"], facts["packages"]) for case in cases]
    for why in sorted(set(reasons) - {""}):
        out = [case.names[0] for case, reason in zip(cases, reasons, strict=True) if reason == why]
        others = f" and {len(out) - 1} others" if len(out) > 1 else ""
        note(f"left out: {out[0]}{others}: {why}")
    return [case for case, why in zip(cases, reasons, strict=True) if not why]


def measure(recording: Recording, cases: list[Case], python: str) -> str:
    """What went wrong, in words; "" where nothing did."""
    missing = recording.missing(cases)
    if len(missing) < len(cases):
        note(f"{len(cases) - len(missing)} of {len(cases)} cases are done")
    names = iter(range(len(cases) - len(missing) + 1, len(cases) + 1))

    def report(line: Line) -> None:
        name = Case(line["case"], recording.more, 0).names[0]
        note(f"[{next(names, '?')}/{len(cases)}] {name}: {outcome(line)}")

    return recording.measure(missing, python, report) if missing else ""


def keep(recordings: list[Recording], folder: Path, facts: dict[str, Any]) -> None:
    """Each as a file in `folder`, all or none; says where they are, and what share of the card they
    show. Only then are they no longer gone on with."""
    kept: list[tuple[Path, int]] = []
    shares = []
    try:
        for recording in recordings:
            lines = recording.lines()
            share = overhead(lines, facts)
            ending = "-more.jsonl" if recording.more else ".jsonl"
            file = unused(folder, recording.env["commit"], ending)
            recording.keep(file, [{"overhead": share}] if share else [])
            kept.append((file, len(lines)))
            shares += [share] if share else []
    except BaseException:
        for file, _ in kept:
            file.unlink()
        raise
    for recording in recordings:
        recording.remove()
    for share in shares:
        print("PyTorch's own share of the card, the parts of `pytorch` in data/gpus.json:")
        print(json.dumps(share, indent=2))
    for file, count in kept:
        print(f"{count} cases are in {file}")


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="python3", help="that has torch (%(default)s)")
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument(
        "--cases", type=file_or_folder, default=REFERENCE, help="recorded before: a file or folder"
    )
    parser.add_argument("--out", type=file_or_folder, default=REFERENCE, help="where results go")
    parser.add_argument(
        "--work", type=file_or_folder, default=ROOT / "build/measure-pytorch", help="until then"
    )
    return parser.parse_args(argv)


@program("measure-pytorch")
def main(argv: list[str] | None = None) -> int:
    given = arguments(argv)
    every = read_cases(given.cases)
    asked = chosen(every, given.only)
    facts = answer(given.python, _FACTS)
    if facts["held_mib"] > _HELD_MIB:
        raise BadInputError(
            f"others hold {facts['held_mib']} MiB of the GPU; what it loses to PyTorch is "
            "measured, so nobody else may use it"
        )
    wanted = smallest_two(every)  # what the card's share is read off
    wanted += [case for case in asked if case not in wanted]
    env = environment(facts)
    with writing():
        given.work.mkdir(parents=True, exist_ok=True)
        recordings = []
        for more in (False, True):
            if cases := runnable([case for case in wanted if case.more is more], facts):
                recordings.append(Recording(given.work, env, more=more))
                if complaint := measure(recordings[-1], cases, given.python):
                    note(f"measure-pytorch: error: {recordings[-1].program.name}: {complaint}")
                    note(f"What is done is in {given.work}; the same command goes on with it")
                    return 1
        # Only now: what is kept is not gone on with.
        folder = given.out / slug(facts["gpu"]) / slug(facts["torch"])
        failed = sum("error" in line["result"] for each in recordings for line in each.lines())
        keep(recordings, folder, facts)
    if failed:
        note(f"measure-pytorch: error: {failed} failed; their lines say why")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
