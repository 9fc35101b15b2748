"""Runs what is asked, a file of JSON as asked.py reads it.

usage: python start.py ASKED.json
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

os.environ.setdefault("TQDM_DISABLE", "1")  # compressed-tensors' bars, which nothing else silences

# What is built for one Python alone is left out, and so is any other vramfit that this Python has.
del sys.path[0]  # this folder: its modules have names of packages
vramfit = ModuleType("vramfit")
vramfit.__path__ = [str(Path(__file__).parents[1])]
sys.modules["vramfit"] = vramfit


def main(file: Path) -> object:
    """What it ran, which is to live until the process ends."""
    from vramfit._step.asked import read, tell
    from vramfit.standin._door import StandInError

    asked = read(file)
    try:
        if asked.measured:
            from vramfit._step.measured import measure

            measure(asked)
            return None
        from vramfit._step.run import run

        return run(asked)
    except ModuleNotFoundError as error:
        lacks = f"{sys.executable} has no {error.name}: install it"
        if not asked.measured:
            raise StandInError(lacks) from error
        tell(asked, refused=lacks)
        return None


if __name__ == "__main__":
    lives = main(Path(sys.argv[1]))
