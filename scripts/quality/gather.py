"""What `python -m quality` left in a folder, as data/quality/results.json: the report's.

PYTHONPATH=scripts python -m quality.gather build/quality/results
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from programs import ROOT, Arguments, BadInputError, program, read_json, writing

from quality.logs import said

_COMMAND = "PYTHONPATH=scripts python -m quality --tokens build/corpus"
_KEPT = ROOT / "data" / "quality" / "results.json"
_DECIMALS = 5  # of a nat


def _losses(lines: Sequence[dict[str, Any]]) -> list[float]:
    """Of all steps from the first on."""
    losses = {line["step"]: line["loss"] for line in lines if "loss" in line}
    if list(losses) != list(range(1, len(losses) + 1)):
        raise BadInputError("a log lacks steps: its stretches are of several courses")
    return [round(loss, _DECIMALS) for loss in losses.values()]


def _held_out(lines: Sequence[dict[str, Any]]) -> list[tuple[int, float]]:
    losses = {line["step"]: line["held_out_loss"] for line in lines if "held_out_loss" in line}
    return [(step, round(loss, _DECIMALS)) for step, loss in losses.items()]


def _tuned(course: dict[str, Any], lines: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """None where it did not come to its end."""
    losses = _held_out([line for line in lines if line["course"] == course["name"]])
    if len(losses) < 2:
        return None
    named = {key: course[key] for key in ("name", "precision", "lora")}
    return {**named, "loss_before": losses[0][1], "loss_after": losses[-1][1]}


def gathered(folder: Path) -> dict[str, Any]:
    facts = read_json(folder / "facts.json")
    course = facts.pop("course")
    ours, theirs = (said(folder / f"{side}.jsonl", "step") for side in ("ours", "pytorch"))
    kept = ("precision", "cache", "loss", "tokens")
    scores = said(folder / "scores.jsonl", *kept)
    tunings = said(folder / "tuned.jsonl", "course", "step")
    tuned = (_tuned(one, tunings) for one in course["tuning"]["courses"])
    return {
        "facts": {**facts, "command": _COMMAND},
        "course": course,
        "losses": {"vramfit": _losses(ours), "PyTorch": _losses(theirs)},
        "held_out": _held_out(ours),
        "scores": [{key: score[key] for key in kept} for score in scores],
        "tuned": [one for one in tuned if one],
    }


@program("quality.gather")
def main(argv: Sequence[str] | None = None) -> int:
    parser = Arguments(prog="quality.gather", description=__doc__)
    parser.add_argument("folder", type=Path, help="what `python -m quality` wrote as --out")
    parser.add_argument("--commit", help="of the program, where the folder does not say")
    parser.add_argument("--out", type=Path, default=_KEPT)
    given: argparse.Namespace = parser.parse_args(argv)
    found = gathered(given.folder)
    if given.commit:
        found["facts"]["commit"] = given.commit
    with writing():
        given.out.write_text(json.dumps(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
