"""make league-played: rows that are played on the stand-in: adapters of PEFT that have no step
written down, at the cap on their lengths, and LitGPT's generation from 4 bits.

Writes played.jsonl, which is data/league/played.jsonl once it is committed, into --out. Fails where
one does not play.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from programs import (
    ROOT,
    Arguments,
    BadInputError,
    file_or_folder,
    program,
    read_json,
    read_jsonl,
    require_made,
    writing,
)

from league.asking import PACKAGE, PLAYED, package
from league.rows import Row, published

_HERE = Path(__file__).resolve().parent
_PYTHON = ROOT / "build" / "exact" / "bin" / "python"
PLAYED_BY = "2.11"  # the PyTorch of build/exact


def _config(model: str) -> dict[str, Any]:
    for folder in ("models", "more_models"):
        file = ROOT / "data" / folder / model / "config.json"
        if file.exists():
            return dict(read_json(file))
    shapes = read_json(ROOT / "data" / "shapes.json")["shapes"]
    return next(shape["config"] for shape in shapes if shape["name"] == model)


def _script(row: Row) -> Path:
    return _HERE / ("play_peft.py" if "peft" in (row.played or {}) else "play_litgpt.py")


def played(rows: Iterable[Row], python: Path = _PYTHON) -> list[dict[str, Any]]:
    """As the scripts write them, a run of each card's."""
    require_made({python: "exact", PACKAGE / "vramfit": "wheel"})
    groups: dict[tuple[Path, str | None, str], list[Row]] = {}
    for row in rows:
        alone = row.id if row.measured is None else ""  # its verdict is `vramfit run`'s
        groups.setdefault((_script(row), row.card, alone), []).append(row)
    return [
        line
        for (script, card, _), group in groups.items()
        for line in _played(script, str(card), group, python)
    ]


def _played(script: Path, card: str, rows: Iterable[Row], python: Path) -> list[dict[str, Any]]:
    asked = [
        {"id": row.id, "config": _config(row.played["model"]), **row.played}
        for row in rows
        if row.played is not None
    ]
    with tempfile.TemporaryDirectory(prefix="vramfit-league-") as folder:
        file, out = Path(folder) / "asked.json", Path(folder) / "played.jsonl"
        file.write_text(json.dumps(asked))
        dry = [sys.executable, "-m", "vramfit", "run", "--gpu", card, "--json", "-", "--"]
        run = subprocess.run(
            [*dry, python, script, file, out],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(PACKAGE), "HF_HUB_OFFLINE": "1"},
        )
        if run.returncode not in (0, 1):
            raise BadInputError(f"vramfit run: ended with {run.returncode}; what it said is above")
        lines = list(read_jsonl(out))
    if len(lines) == 1:  # of more, what it said is of the process that forks
        lines[0]["verdict"] = _verdict(json.loads(run.stdout))
    return lines


def _verdict(answer: dict[str, Any]) -> str:
    """By `vramfit run`'s own judge. The row's run was another release's: what it reserved may be as
    far off as fit's figures are at worst."""
    releases = read_json(ROOT / "data" / "releases.json")["releases"]
    error = next(row for row in releases if row["name"] == PLAYED_BY)["reserved_error"]["value"]
    may_be_off = answer["uncertainty"]
    reserved = max(may_be_off["reserved"], round(error * answer["levels"]["reserved"]))
    judged = {
        **answer,
        "uncertainty": {**may_be_off, "reserved": reserved},
        "about": [],
        "notes": [],
    }
    core = package()._core
    return str(json.loads(core.dry_run_verdict(json.dumps(judged)))["verdict"])


@program("league-played")
def main(argv: Sequence[str] | None = None) -> int:
    parser = Arguments(
        prog="make league-played",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out = ROOT / "build" / "league"
    parser.add_argument("--out", type=file_or_folder, default=out, help="a folder")
    given = parser.parse_args(argv)
    lines = played(row for row in published() if row.played is not None)
    with writing():
        given.out.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (given.out / PLAYED.name).write_text(text, encoding="utf-8")
    failed = [f"{line['id']}: {line['error']}" for line in lines if "error" in line]
    print("\n".join(failed), file=sys.stderr, end="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
