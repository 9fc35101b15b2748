"""The package, and what other tests have, on Python's path."""

import sys

from installed import PACKAGE, ROOT

if not (PACKAGE / "vramfit").is_dir():
    raise FileNotFoundError(f"{PACKAGE}/vramfit: make wheel puts it there")
sys.path[:0] = [str(PACKAGE), str(ROOT / "tests" / "fuzz"), str(ROOT / "tests")]
