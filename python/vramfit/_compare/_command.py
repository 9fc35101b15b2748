"""The command `vramfit-compare`."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._compare._answers import Json, read
from vramfit._compare._comparison import (
    GONE,
    NEW,
    NOT_COMPARABLE,
    WORSE,
    Tolerance,
    added,
    compared,
    gone,
)
from vramfit._compare._text import FORMATS, markdown, table
from vramfit._dry_run._options import Parser, formatter
from vramfit._sizes import size_of

PASSES, FAILS, BAD_INPUT = 0, 1, 2
SCHEMA = 1


def main() -> int:
    """Of `vramfit-compare`."""
    return compare(sys.argv[1:])


def compare(arguments: list[str]) -> int:
    """The command; returns its exit status."""
    try:
        options = _parser().parse_args(arguments)
        told = _told(options)
    except _core.BadInput as error:
        print(f"vramfit: error: {error}", file=sys.stderr)
        return BAD_INPUT
    shown = {"table": table, "markdown": markdown, "json": _json}[options.format](told)
    print(shown, end="")
    return PASSES if told["passes"] else FAILS


def _parser() -> Parser:
    parser = Parser(
        prog="vramfit compare",
        usage="vramfit-compare OLD NEW [FLAGS]",
        description="What moved between two runs of `vramfit run --json`, and at which line. OLD "
        "and NEW are its files, or folders of them, which are joined by the files' names.",
        epilog="Exit status: 0 nothing is worse, 1 something is, 2 bad input.",
        allow_abbrev=False,
        formatter_class=formatter,
    )
    parser.add_argument("old", metavar="OLD", type=Path)
    parser.add_argument("new", metavar="NEW", type=Path)
    parser.add_argument(
        "--tolerance",
        metavar="SIZE",
        default="0",
        help="what a level may differ by: 100MB, or 1%% of it (default 0)",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="(default table)")
    parser.add_argument(
        "--across-cards", action="store_true", help="compares runs on different GPUs, too"
    )
    parser.add_argument(
        "--allow", choices=["gone"], action="append", default=[], help="rows that NEW has not"
    )
    return parser


def _told(options: Namespace) -> Json:
    tolerance = _tolerance(options.tolerance)
    rows = list(_rows(options, tolerance))
    failing = {WORSE, NOT_COMPARABLE, GONE} - set(options.allow)
    compares = any(row["outcome"] not in (NEW, GONE) for row in rows)
    return {
        "compare_schema": SCHEMA,
        "old": str(options.old),
        "new": str(options.new),
        "tolerance": options.tolerance,
        "passes": compares and not any(row["outcome"] in failing for row in rows),
        "rows": rows,
    }


def _rows(options: Namespace, tolerance: Tolerance) -> Iterator[Json]:
    old, new = _files(options.old), _files(options.new)
    if not options.old.is_dir() and not options.new.is_dir():
        name = f"{options.old.name} \N{RIGHTWARDS ARROW} {options.new.name}"
        old, new = {name: options.old}, {name: options.new}
    for name in {**old, **new}:
        if name not in new:
            yield gone(name)
        elif name not in old:
            yield added(name, read(new[name]))
        else:
            pair = read(old[name]), read(new[name])
            yield compared(name, *pair, tolerance, across_cards=options.across_cards)


def _files(path: Path) -> dict[str, Path]:
    """By name."""
    if not path.is_dir():
        return {path.stem: path}  # one of a folder's
    found = {file.stem: file for file in sorted(path.glob("*.json"))}
    if not found:
        raise bad_input(f"compare: '{path}' has no file of vramfit run --json")
    return found


def _tolerance(text: str) -> Tolerance:
    if not text.endswith("%"):
        size = size_of("compare: --tolerance", text)
        return lambda _: size
    try:
        share = float(text[:-1]) / 100
    except ValueError:
        share = -1
    if not 0 <= share < 1:
        raise bad_input(f"compare: --tolerance: is '{text}'; a size, or a share such as 1%")
    return lambda level: level * share


def _json(told: Json) -> str:
    return json.dumps(told, indent=2) + "\n"
