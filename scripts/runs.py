"""Where measurements are kept: data/runs/<gpu>/<driver>-<cuda>/<date>-<commit>.json."""

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from programs import ROOT

RUNS = ROOT / "data" / "runs"


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def new_file(context: Mapping[str, str], kind: str = "", runs: Path = RUNS) -> Path:
    """A path without a file yet, in a folder that exists. `kind` ends the name of a file that is no
    run of bench: "-compare"."""
    folder = runs / slug(context["gpu"]) / slug(f"{context['driver']}-{context['cuda']}")
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{datetime.now(timezone.utc):%Y-%m-%d}-{context['commit']}"
    path, number = folder / f"{name}{kind}.json", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}{kind}.json"
    return path
