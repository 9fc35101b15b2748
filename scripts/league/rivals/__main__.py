"""make league-rivals: what else says how much memory a run takes, on all reference cases that it
answers.

Runs what is run (accelerate, on the stand-in; hf-mem, in a Python of its own; Unsloth's planner,
of which a wheel is fetched), and writes
rivals.json, which is data/league/rivals.json once it is committed, and rivals.md, docs/league.md's
tables, into --out. With --kept nothing is run: what was said is read.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from programs import ROOT, Arguments, BadInputError, file_or_folder, program, writing
from vramfit_plots.accuracy.comparison import compare
from vramfit_plots.tables import markdown_fragment, text_table

from league.asking import package
from league.rivals import programs_run, table


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(
        prog="make league-rivals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kept", action="store_true", help="of data/league/rivals.json")
    out = ROOT / "build" / "league"
    parser.add_argument("--out", type=file_or_folder, default=out, help="a folder")
    return parser.parse_args(argv)


def device_used(question: Mapping[str, Any]) -> int:
    vramfit = package()
    try:
        return vramfit.estimate(**question).levels.device_used
    except vramfit.BadInput as refused:
        raise BadInputError(f"{question}: {refused}") from refused


def _run(out: Path) -> None:
    begun = time.perf_counter()
    asked = compare(ROOT / "build" / "fit", ROOT / "data")
    seconds = (time.perf_counter() - begun) / len(asked.cases)
    own = {"vramfit": {"said": {}, "seconds": round(seconds, 4)}}
    # MemTracker ran where CUDA's libraries are: what it said stays.
    said = (
        table.kept()["said"]
        | own
        | {
            "accelerate": programs_run.accelerate(asked),
            "hf-mem": programs_run.hf_mem(asked),
            "unsloth": programs_run.unsloth(asked),
        }
    )
    with writing():
        out.mkdir(parents=True, exist_ok=True)
        text = table.spelt({"rivals": table.kept()["rivals"], "said": said})
        (out / "rivals.json").write_text(text, encoding="utf-8")


@program("league-rivals")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    if not given.kept:
        _run(given.out)
    built = [table.build(table.lines(device_used)), table.described()]
    with writing():
        given.out.mkdir(parents=True, exist_ok=True)
        told = "\n".join(f"### {one.title}\n\n{markdown_fragment(one)}" for one in built)
        (given.out / "rivals.md").write_text(told, encoding="utf-8")
    print("\n".join(map(text_table, built)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
