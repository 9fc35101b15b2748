"""The command line of `vramfit record`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vramfit._bad_input import bad_input
from vramfit._dry_run._options import Parser, formatter, whole
from vramfit._record._solve import Point

EXAMPLE = (
    "vramfit record -o my.tape --vary batch=2,3,5 --vary seq=128,192,256 -- python train.py "
    "--batch {batch} --seq {seq}"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = ("min", "max", "at")
_LEAST = 3  # points: one term and a number, and one point that shows whether they are right


@dataclass(frozen=True)
class Asked:
    options: argparse.Namespace
    command: list[str]
    points: list[Point]
    check: Point | None  # None: nothing is varied


def _parser() -> Parser:
    parser = Parser(
        prog="vramfit record",
        usage="vramfit record -o FILE --vary NAME=N,N,N … [FLAGS] -- python SCRIPT … {NAME} …",
        description="Runs a PyTorch script, unchanged, on a GPU that is not there, at several "
        "sizes, and keeps what it asks for so that `vramfit --tape FILE` answers for any.",
        epilog=f"As in: {EXAMPLE}",
        allow_abbrev=False,
        formatter_class=formatter,
        add_help=True,
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the tape")
    parser.add_argument(
        "--vary",
        metavar="NAME=N,…",
        action="append",
        default=[],
        help="what {NAME} is in the command, run by run; three of each at least",
    )
    parser.add_argument(
        "--check",
        metavar="NAME=N,…",
        help="a further size, which the tape is not made from (otherwise one that is larger)",
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=whole,
        default=4,
        help="optimizer steps that are recorded (default 4); the last two are to be alike",
    )
    parser.add_argument("--gpu", metavar="NAME", help="the card it runs on (default h200)")
    parser.add_argument(
        "--random-weights",
        action="store_true",
        help="from_pretrained needs a model's config alone",
    )
    return parser


def parse(arguments: list[str]) -> Asked:
    """Raises BadInput."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    own, command = arguments[:at], arguments[at + 1 :]
    options, strangers = _parser().parse_known_args(own)
    if strangers:
        raise bad_input(f"record: no flag {strangers[0]}; vramfit record --help")
    if not command:
        raise bad_input(f"record: nothing after --; as in {EXAMPLE}")
    varied = _named("--vary", options.vary)
    points = _points(varied, command)
    return Asked(options, command, points, _check(options.check, points))


def _named(flag: str, texts: Sequence[str]) -> dict[str, list[int]]:
    """Of batch=2,3,5,seq=128,192 and the like."""
    varied: dict[str, list[int]] = {}
    name = ""
    for part in (part for text in texts for part in text.split(",")):
        before, equals, number = part.rpartition("=")
        if equals:
            name = before
            if not _NAME.fullmatch(name) or name in _RESERVED:
                raise bad_input(f"record: {flag} {name}: no name; letters, digits and _")
            if name in varied:
                raise bad_input(f"record: {flag} {name}: is there twice")
            varied[name] = []
        if not name or not number.isdecimal() or int(number) == 0:
            raise bad_input(f"record: {flag} '{part}': a name and whole numbers, batch=2,3,5")
        varied[name].append(int(number))
    return varied


def _points(varied: dict[str, list[int]], command: list[str]) -> list[Point]:
    for name, numbers in varied.items():
        if not any(f"{{{name}}}" in word for word in command):
            raise bad_input(f"record: --vary {name}: the command has no {{{name}}} in its place")
        if len(numbers) < _LEAST or len(set(numbers)) < _LEAST:
            raise bad_input(f"record: --vary {name}: {_LEAST} sizes at least, as in batch=2,3,5")
    if len({len(numbers) for numbers in varied.values()}) > 1:
        raise bad_input(
            "record: --vary: as many sizes of each name, which are taken one of each at a time"
        )
    if not varied:
        return [{}]
    return [dict(zip(varied, each, strict=True)) for each in zip(*varied.values(), strict=True)]


def rounds(asked: Asked) -> list[list[Point]]:
    """Points to be recorded: the sizes as they were given, one of each name; then, as long as that
    does not tell enough, crossed: each of the first name's with the next of the others'."""
    names = [*asked.points[0]]
    count = len(asked.points)
    result = [asked.points]
    for shift in range(1, count if len(names) > 1 else 1):
        crossed = []
        for at, point in enumerate(asked.points):
            other = asked.points[(at + shift) % count]
            crossed.append({**other, names[0]: point[names[0]]})
        known = [point for one in result for point in one]
        result.append([each for each in crossed if each not in known and each != asked.check])
    return [one for one in result if one]


def _check(text: str | None, points: list[Point]) -> Point | None:
    names = points[0]
    if not names:
        return None
    if text is None:
        return beyond(points)
    given = _named("--check", [text])
    if [*given] != [*names] or any(len(numbers) != 1 for numbers in given.values()):
        raise bad_input(
            f"record: --check: one size of each of {' and '.join(names)}, in that order"
        )
    point = {name: numbers[0] for name, numbers in given.items()}
    if point in points:
        raise bad_input("record: --check: another size than those it is made from")
    return point


def beyond(points: list[Point]) -> Point:
    """Of each name as far beyond the last as that is from the one before."""
    numbers = {name: sorted({point[name] for point in points}) for name in points[0]}
    return {name: 2 * each[-1] - each[-2] for name, each in numbers.items()}


def at(command: Sequence[str], point: Point) -> list[str]:
    """The command with sizes in their places."""
    words = [*command]
    for name, number in point.items():
        words = [word.replace(f"{{{name}}}", str(number)) for word in words]
    return words
