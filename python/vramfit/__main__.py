"""The command `vramfit`: what `fit` does, `vramfit check`, `run`, `record`, `model` and `compare`."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

from vramfit import _core

# Switches of fit's answer, which `vramfit model` gives otherwise.
_OF_FIT_ALONE = ("--advise", "--formulas", "--json", "--strict", "--verbose")


def main() -> int:
    """Runs the command; returns its exit status."""
    if sys.argv[1:2] == ["check"]:
        from vramfit._check import check

        return check(sys.argv[2:])
    if sys.argv[1:2] == ["run"]:
        from vramfit._dry_run import run

        return run(sys.argv[2:])
    if sys.argv[1:2] == ["record"]:
        from vramfit._record import record

        return record(sys.argv[2:])
    if sys.argv[1:2] == ["model"]:
        from vramfit._model import model

        return model(sys.argv[2:])
    if sys.argv[1:2] == ["compare"]:
        from vramfit._compare import compare

        return compare(sys.argv[2:])
    if sys.argv[1:2] in (["--help"], ["-h"]):
        print("Beside what follows: vramfit check, run, record, model and compare --help\n")
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
