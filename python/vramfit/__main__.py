"""The command `vramfit`: what `fit` does, and commands beside it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from vramfit import _core

# Switches of fit's answer, which `vramfit model` gives otherwise.
_OF_FIT_ALONE = ("--advise", "--formulas", "--json", "--strict", "--verbose")


# The module of each, which has a function of its name, "_" for "-".
_COMMANDS = {
    "check": "vramfit._check",
    "run": "vramfit._dry_run",
    "record": "vramfit._record",
    "model": "vramfit._model",
    "compare": "vramfit._compare",
    "submit-case": "vramfit._submit",
}


def main() -> int:
    """Runs the command; returns its exit status."""
    named = sys.argv[1] if len(sys.argv) > 1 else ""
    if named in _COMMANDS:
        command: Callable[[list[str]], int] = getattr(
            import_module(_COMMANDS[named]), named.replace("-", "_")
        )
        return command(sys.argv[2:])
    if sys.argv[1:2] in (["--help"], ["-h"]):
        print(
            "Beside what follows: vramfit check, run, record, model, compare, submit-case --help\n"
        )
    try:
        sys.stdout.flush()
        return _core.run(sys.argv[1:], _otherwise(sys.argv[1:]))
    except KeyboardInterrupt:
        return 130


def _otherwise(arguments: list[str]) -> str:
    """What to type where no step is written down for a model, if it can be run here."""
    if not (find_spec("torch") and find_spec("transformers")):
        return ""
    kept = [argument for argument in arguments if argument not in _OF_FIT_ALONE]
    return "; its own code runs by: " + shlex.join(["vramfit", "model", *kept])


if __name__ == "__main__":
    sys.exit(main())
