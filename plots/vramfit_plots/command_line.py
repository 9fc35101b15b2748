"""What all programs say and return when they are given what they cannot use."""

import argparse
import functools
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from vramfit_plots.files import BadInputError

_EXIT_BAD_INPUT = 2
_EXIT_INTERRUPTED = 130  # as shells have it: 128 and SIGINT
_LINE = 200  # characters

Main = Callable[[Sequence[str] | None], int]


class Arguments(argparse.ArgumentParser):
    """Refuses in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise BadInputError(message)

    def path(self, flag: str, default: Path | None, what: str) -> None:
        """A file or folder."""
        said = f"{what} (%(default)s)" if default else what
        self.add_argument(flag, type=file_or_folder, default=default, help=said.strip())


def file_or_folder(text: str) -> Path:
    """An argument's type. What is not printable could not be named in a report or an error."""
    if not text or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!a} is no name of a file or folder")
    return Path(text)


def say(text: str) -> None:
    """Prints what a program answers."""
    try:
        print(text, flush=True)
    except OSError as error:
        # What is still buffered would be tried, and complained about, once more at exit.
        sys.stdout = io.StringIO()
        raise BadInputError(f"standard output: {error.strerror}") from None


def _one_line(text: str) -> str:
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return printable if len(printable) <= _LINE else printable[: _LINE - 1] + "…"


def program(name: str) -> Callable[[Main], Main]:
    """Of a main function: bad input is one line that begins with `name`, and exit code 2."""

    def decorate(main: Main) -> Main:
        @functools.wraps(main)
        def run(argv: Sequence[str] | None = None) -> int:
            try:
                return main(argv)
            except BadInputError as error:
                print(_one_line(f"{name}: error: {error}"), file=sys.stderr)
                return _EXIT_BAD_INPUT
            except KeyboardInterrupt:
                return _EXIT_INTERRUPTED

        return run

    return decorate
