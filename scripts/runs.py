"""Where measurements are kept: data/runs/<gpu>/<driver>-<cuda>/<date>-<commit>.json."""

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from programs import ROOT

RUNS = ROOT / "data" / "runs"


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def unused(folder: Path, commit: str, ending: str) -> Path:
    """A path without a file yet, named after today and the commit, in a folder that exists."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{datetime.now(timezone.utc):%Y-%m-%d}-{commit}"
    path, number = folder / f"{name}{ending}", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}{ending}"
    return path


def of_card(folder: Path) -> list[Path]:
    """The runs of bench in a card's folder, whatever its driver was; comparisons are none."""
    files = sorted(folder.glob("*/*.json"))
    return [path for path in files if not path.name.endswith("-compare.json")]


def new_file(context: Mapping[str, str], kind: str = "", runs: Path = RUNS) -> Path:
    """`kind` ends the name of a file that is no run of bench: "-compare"."""
    folder = runs / slug(context["gpu"]) / slug(f"{context['driver']}-{context['cuda']}")
    return unused(folder, context["commit"], f"{kind}.json")
