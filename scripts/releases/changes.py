"""What moved from one release to the next: kept for the report, and in lines for a reader."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from programs import ROOT, BadInputError, writing
from vramfit_plots.releases import Release as Played
from vramfit_plots.releases import load_release

from releases.known import KEPT, TOLD, Release

_FILE = KEPT / "changes.json"
_LINES = 10  # of a stage, those that moved most


def keep_changes(releases: Sequence[Release]) -> None:
    """Of each that was played from the one before it, by vramfit-compare."""
    found = [
        {"old": old.name, "new": new.name, "rows": _compared(old, new)}
        for old, new in pairwise(release for release in releases if release.was_played)
    ]
    with writing():
        _FILE.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n", encoding="utf-8")


def _compared(old: Release, new: Release) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "vramfit", "compare", old.name, new.name, "--format", "json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "python")}
    ran = subprocess.run(command, cwd=KEPT, env=env, capture_output=True, text=True, check=False)
    if not ran.stdout:
        raise BadInputError(f"vramfit compare {old.name} {new.name}: {ran.stderr.strip()}")
    rows: list[dict[str, Any]] = json.loads(ran.stdout)["rows"]
    for row in rows:
        row["case"] = TOLD[row["name"]]
        for stage in row["moved"]:
            stage["lines"] = stage["lines"] and stage["lines"][:_LINES]
    return rows


def changes(releases: Sequence[Release]) -> Iterator[str]:
    """In lines, of the cases."""
    played = [load_release(release.folder) for release in releases if release.was_played]
    for old, new in pairwise(played):
        yield f"{old.name} \N{RIGHTWARDS ARROW} {new.name}:"
        yield from _between(old, new)


def _between(old: Played, new: Played) -> Iterator[str]:
    cases = [*old.readings, *old.failed]
    same = 0
    for case in cases:
        before, after = old.highest(case), new.highest(case)
        if before is None or after is None:
            yield f"  {case}: {old.failed.get(case) or new.failed.get(case) or 'not played'}"
        elif before == after:
            same += 1
        else:
            allocated, reserved = (now - then for then, now in zip(before, after, strict=True))
            yield f"  {case}: allocated {allocated:+,} B, reserved {reserved:+,} B"
    yield f"  the same peaks: {same} of {len(cases)}"
