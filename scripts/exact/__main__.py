"""make exact: reference cases played on the stand-in, and how near they come to what a GPU was
measured to take.

Writes what was played, a file for each of data/reference, into --out, and there exact.jsonl, which
is data/exact.jsonl once it is committed, exact.md, docs/accuracy.md's table and picture, and the
picture, run.png, which is plots/pictures/run.png then. Fails where a level is not as measured any
more that data/exact.jsonl says was.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from programs import ROOT, Arguments, file_or_folder, program, writing
from vramfit_plots.figures import style
from vramfit_plots.tables import markdown_fragment, text_table

from exact import picture, table
from exact.cases import Case, chosen, every_case
from exact.comparison import Line, compared, kept, lost, told
from exact.standin import Played, played


def _slowest_first(cases: list[Case]) -> list[Case]:
    """So that none of them is what all wait for at the end."""
    seconds = {line["name"]: line["seconds"] for line in kept()}
    return sorted(cases, key=lambda case: -seconds.get(case.name, 0))


def _write(file: Path, lines: Sequence[object]) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _by_file(cases: list[Case], lines: list[Played]) -> dict[str, list[Played]]:
    found: dict[str, list[Played]] = {}
    for case, line in zip(cases, lines, strict=True):
        found.setdefault(case.file, []).append(line)
    return found


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(
        prog="make exact", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    venv = ROOT / "build" / "exact"
    parser.add_argument(
        "--python", type=Path, default=venv / "bin" / "python", help="that has torch"
    )
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--kept", action="store_true", help="of data/exact.jsonl; plays nothing")
    parser.add_argument("--out", type=file_or_folder, default=venv, help="a folder")
    return parser.parse_args(argv)


def _play(given: argparse.Namespace) -> list[Line]:
    """Those that are chosen; what was played is kept in files."""
    cases = chosen(given.only)
    cores = len(os.sched_getaffinity(0))
    by_name = played(_slowest_first(cases), given.python, cores)
    lines = [by_name[case.name] for case in cases]
    compared_lines = [compared(case, line) for case, line in zip(cases, lines, strict=True)]
    with writing():
        given.out.mkdir(parents=True, exist_ok=True)
        for file, of_file in _by_file(cases, lines).items():
            _write(given.out / f"{file}.jsonl", of_file)
        _write(given.out / "exact.jsonl", compared_lines)
    return compared_lines


def _publish(lines: list[Line], out: Path) -> None:
    built = table.build(lines, every_case())
    with writing(), style.styled():
        drawn = picture.draw(lines, every_case())
        drawn.write(out)
        (out / "exact.md").write_text(
            f"{markdown_fragment(built)}\n{picture.markdown(drawn)}\n", encoding="utf-8"
        )
    print(f"\n{text_table(built)}")


@program("exact")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    lines = kept() if given.kept else _play(given)
    for line in lines:
        print("\n".join(told(line)), end="\n" if told(line) else "")
    _publish(lines, given.out)
    worse = lost(kept(), lines)
    if worse:
        print("Was as measured, and is not any more:\n" + "\n".join(worse), file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
