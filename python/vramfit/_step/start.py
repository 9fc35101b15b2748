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

if __name__ == "__main__":
    try:
        from vramfit._step.asked import read
        from vramfit._step.run import run

        model = run(read(Path(sys.argv[1])))
    except ModuleNotFoundError as error:
        from vramfit.standin._door import StandInError

        raise StandInError(f"{sys.executable} has no {error.name}: install it") from error
