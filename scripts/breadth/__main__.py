"""make breadth: every type of causal language model that transformers has, made small: two steps of
training and a generation each, on the stand-in.

Where one does not run, it is played on the CPU too, without the stand-in, to tell its fault from
the model's own. Writes breadth.jsonl, which is data/breadth.jsonl once it is committed, and
breadth.md, docs/breadth.md's table, into --out. Fails where a type does not run any more that
data/breadth.jsonl says did.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from programs import (
    ROOT,
    Arguments,
    BadInputError,
    file_or_folder,
    program,
    read_jsonl,
    require_made,
    writing,
)
from vramfit_plots.tables import markdown_fragment, text_table

from breadth import table
from breadth.lines import Line, failures, kept, line_of, lost

_PLAY = Path(__file__).resolve().parent / "play.py"
_PACKAGE = ROOT / "build" / "python"
_CARD = "h200"


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(
        prog="make breadth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    python = ROOT / "build" / "exact" / "bin" / "python"
    parser.add_argument("--python", type=Path, default=python, help="that has torch")
    parser.add_argument("--only", default="", help="types with this in their name")
    parser.add_argument("--kept", action="store_true", help="of data/breadth.jsonl; plays nothing")
    parser.add_argument(
        "--out", type=file_or_folder, default=ROOT / "build" / "breadth", help="a folder"
    )
    return parser.parse_args(argv)


def played(python: Path, **asked: Any) -> list[dict[str, Any]]:
    """What play.py writes: of types with `only` in their name, or of `types`; on the CPU where
    `facts` are given."""
    require_made({python: "exact", _PACKAGE / "vramfit": "wheel"})
    asked = {
        "package": str(_PACKAGE / "vramfit"),
        "processes": len(os.sched_getaffinity(0)),
    } | asked
    with tempfile.TemporaryDirectory(prefix="vramfit-breadth-") as folder:
        file, out = Path(folder) / "asked", Path(folder) / "played"
        file.write_text(json.dumps(asked))
        command = [python, _PLAY, file, out]
        if "facts" not in asked:
            dry = ["-m", "vramfit", "run", "--gpu", _CARD, "--json", "-", "--"]
            command = [sys.executable, *dry, *command]
        run = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            check=False,
            env={
                **os.environ,
                "HF_HUB_OFFLINE": "1",
                "PYTHONPATH": str(_PACKAGE),
                "TMPDIR": folder,
            },
        )
        if run.returncode != 0:
            raise BadInputError(f"play.py: ended with {run.returncode}; what it said is above")
        return list(read_jsonl(out))


def no_gpu() -> dict[str, Any]:
    """The stand-in's facts of a machine that has none."""
    sys.path.insert(0, str(_PACKAGE))
    from vramfit import _core  # noqa: PLC0415  `make wheel` puts it there

    return {**json.loads(_core.card_facts(json.dumps({"gpu": _CARD}))), "devices": 0}


def _play(given: argparse.Namespace) -> list[Line]:
    found = played(given.python, only=given.only)
    failed = [each["type"] for each in found if failures(each)]
    on_cpu = played(given.python, types=failed, facts=no_gpu()) if failed else []
    by_type = {each["type"]: each for each in on_cpu}
    lines = sorted(
        (line_of(each, by_type.get(each["type"])) for each in found), key=lambda line: line["type"]
    )
    with writing():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (given.out / "breadth.jsonl").write_text(text, encoding="utf-8")
    return lines


@program("breadth")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    with writing():
        given.out.mkdir(parents=True, exist_ok=True)
    lines = kept() if given.kept else _play(given)
    built = table.build(lines)
    with writing():
        (given.out / "breadth.md").write_text(markdown_fragment(built) + "\n", encoding="utf-8")
    print(f"\n{text_table(built)}\n{table.summary(lines)}")
    worse = lost(kept(), lines)
    if worse:
        print("Ran, and does not any more:\n" + "\n".join(worse), file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
