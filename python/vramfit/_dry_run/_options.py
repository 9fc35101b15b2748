"""The command line of `vramfit run`."""

from __future__ import annotations

import argparse
from typing import NoReturn

from vramfit._bad_input import bad_input

_EXAMPLE = "vramfit run --gpu rtx4090 -- python train.py"


class Parser(argparse.ArgumentParser):
    """Of one of vramfit's commands, which names itself where something is wrong."""

    def error(self, message: str) -> NoReturn:
        line = message.removeprefix("argument ").replace("expected one argument", "wants a value")
        raise bad_input(f"{self.prog.split()[-1]}: {line}; {self.prog} --help")


def formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=26, width=100)


def whole(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"is '{text}'; a whole number from 1")
    return int(text)


def _rank(text: str) -> int | None:
    """None: all of them."""
    if text == "all":
        return None
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"is '{text}'; a number from 0, or all")
    return int(text)


def shared_flags(prog: str) -> Parser:
    """Those of every command that runs something on a GPU that is not there."""
    parser = Parser(prog=prog, add_help=False, allow_abbrev=False)
    card = parser.add_argument_group("which GPU (otherwise this machine's)")
    card.add_argument("--gpu", metavar="NAME", help="a card of vramfit --list: rtx4090")
    card.add_argument("--vram", metavar="SIZE", help="any card of this size: 24GiB")
    card.add_argument("--headroom", metavar="SIZE", help="to be left free: 1GB")
    how = parser.add_argument_group("how far, and how")
    how.add_argument(
        "--steps",
        metavar="N",
        type=whole,
        help="optimizer steps (otherwise until nothing grows any more, or the script's end)",
    )
    how.add_argument(
        "--band",
        action="store_true",
        help="twice: with a GPU that is done at once, and with one that is always behind",
    )
    how.add_argument(
        "--strict", action="store_true", help="end at the first call of CUDA that is not known"
    )
    out = parser.add_argument_group("what to write")
    out.add_argument(
        "--top", metavar="N", type=whole, default=0, help="the N lines that held most at the peak"
    )
    out.add_argument("--json", metavar="FILE", help="the answer as JSON; -: instead of the text")
    out.add_argument("--snapshot", metavar="FILE", help="PyTorch's memory snapshot of the run")
    out.add_argument("--trace", metavar="FILE", help="the run in Chrome's trace event format")
    return parser


def _parser() -> Parser:
    parser = Parser(
        prog="vramfit run",
        usage="vramfit run [FLAGS] -- python SCRIPT [ARGUMENTS]",
        description="Runs a PyTorch script, unchanged, on a GPU that is not there, and says what "
        "it takes of its memory and whether it fits.",
        epilog="Exit status: 0 it fits, 1 it does not, 2 bad input, 3 the script itself failed.",
        allow_abbrev=False,
        formatter_class=formatter,
        parents=[shared_flags("vramfit run")],
    )
    script = parser.add_argument_group("of the script")
    script.add_argument(
        "--gpus", metavar="N", type=whole, default=1, help="so many of that GPU: torchrun"
    )
    script.add_argument(
        "--nodes",
        metavar="N",
        type=whole,
        help="machines like this one, each with as many ranks (otherwise as the launcher says)",
    )
    script.add_argument(
        "--rank",
        metavar="K",
        type=_rank,
        default=0,
        help="the rank that runs, the others are stood in for; all: each, by itself (default 0)",
    )
    script.add_argument(
        "--longest",
        action="store_true",
        help="the longest batch that the script's sampler can give comes first",
    )
    script.add_argument(
        "--beside-real",
        action="store_true",
        help="on a machine with a GPU: there too, and where the two part",
    )
    script.add_argument(
        "--advise",
        action="store_true",
        help="tries, on the script as it is, what would make it fit",
    )
    script.add_argument(
        "--random-weights",
        action="store_true",
        help="from_pretrained needs a model's config alone",
    )
    script.add_argument(
        "--uploads",
        action="store_true",
        help="loggers and pushes of the script's are left on",
    )
    return parser


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Flags and the command behind `--`. Raises BadInput."""
    own, dashes, command = _split(arguments)
    options, strangers = _parser().parse_known_args(own)
    if strangers and not strangers[0].startswith("-"):
        raise bad_input(f"run: -- goes before the command, '{strangers[0]}': {_EXAMPLE}")
    if strangers:
        raise bad_input(f"run: no flag {strangers[0]}; vramfit run --help")
    if not command:
        raise bad_input(f"run: {'nothing after --' if dashes else 'no command'}; as in {_EXAMPLE}")
    if options.beside_real:
        _check_beside_real(options)
    if options.band and options.advise:
        raise bad_input("run: --band is of one run, and --advise of many: one of them")
    return options, command


def _check_beside_real(options: argparse.Namespace) -> None:
    for flag in ("gpu", "vram", "band", "random_weights"):
        if getattr(options, flag):
            raise bad_input(
                f"run: --beside-real is for this machine's GPU, as it is: without "
                f"--{flag.replace('_', '-')}"
            )
    if options.gpus > 1:
        raise bad_input("run: --beside-real is for one GPU: without --gpus")


def _split(arguments: list[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in arguments:
        return arguments, False, []
    at = arguments.index("--")
    return arguments[:at], True, arguments[at + 1 :]
