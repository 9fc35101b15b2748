"""The package as it is installed: `make wheel` puts what the wheel holds into build/python.
Another Python's is named by $VRAMFIT_PACKAGE, the folder of pip's --target."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("VRAMFIT_PACKAGE") or ROOT / "build" / "python")
