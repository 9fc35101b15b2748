"""The command `vramfit`: what the C++ program `fit` does, `vramfit check` and `vramfit run`."""

from __future__ import annotations

import sys

from vramfit import _core


def main() -> int:
    """Runs the command; returns its exit status."""
    if sys.argv[1:2] == ["check"]:
        from vramfit._check import check

        return check(sys.argv[2:])
    if sys.argv[1:2] == ["run"]:
        from vramfit._dry_run import run

        return run(sys.argv[2:])
    if sys.argv[1:2] in (["--help"], ["-h"]):
        print("Beside what follows: vramfit check --help, vramfit run --help\n")
    try:
        sys.stdout.flush()
        return _core.run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
