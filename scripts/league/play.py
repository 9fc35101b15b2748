"""make league-played: rows that are played on the stand-in, adapters of PEFT that have no step
written down, at the cap on their lengths.

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

from league.asking import PACKAGE, PLAYED
from league.rows import Row, published

_PLAY = Path(__file__).resolve().parent / "play_peft.py"
_PYTHON = ROOT / "build" / "exact" / "bin" / "python"


def _config(model: str) -> dict[str, Any]:
    shapes = read_json(ROOT / "data" / "shapes.json")["shapes"]
    return next(shape["config"] for shape in shapes if shape["name"] == model)


def played(rows: Iterable[Row], python: Path = _PYTHON) -> list[dict[str, Any]]:
    """As play_peft.py writes them; all rows are of one card."""
    require_made({python: "exact", PACKAGE / "vramfit": "wheel"})
    rows = list(rows)
    (card,) = {row.card for row in rows}
    asked = [
        {"id": row.id, "config": _config(row.played["model"]), **row.played}
        for row in rows
        if row.played is not None
    ]
    with tempfile.TemporaryDirectory(prefix="vramfit-league-") as folder:
        file, out = Path(folder) / "asked.json", Path(folder) / "played.jsonl"
        file.write_text(json.dumps(asked))
        dry = [sys.executable, "-m", "vramfit", "run", "--gpu", str(card), "--json", "-", "--"]
        run = subprocess.run(
            [*dry, python, _PLAY, file, out],
            stdout=subprocess.DEVNULL,  # of the process that forks
            check=False,
            env={**os.environ, "PYTHONPATH": str(PACKAGE), "HF_HUB_OFFLINE": "1"},
        )
        if run.returncode != 0:
            raise BadInputError(f"vramfit run: ended with {run.returncode}; what it said is above")
        return list(read_jsonl(out))


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
