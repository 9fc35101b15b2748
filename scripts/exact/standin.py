"""Has a Python play cases under `vramfit run`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from programs import ROOT, BadInputError, read_jsonl, require_made

from exact.cases import Case

_PLAY = Path(__file__).resolve().parent / "play.py"
_PACKAGE = ROOT / "build" / "python"

Played = dict[str, Any]  # as play.py writes it


def played(
    cases: Sequence[Case], python: Path, processes: int, packages: Sequence[Path] = ()
) -> dict[str, Played]:
    """By name; begun in the order of `cases`, each on the card that it was measured on. `packages`:
    folders of them that go before the Python's own."""
    require_made({python: "exact", _PACKAGE / "vramfit": "wheel"})
    found: dict[str, Played] = {}
    for card in sorted({case.card for case in cases}):
        here = [case for case in cases if case.card == card]
        lines = _on_card(card, here, python, processes, packages)
        found |= {line["name"]: line for line in lines}
    return found


def _on_card(
    card: str, cases: list[Case], python: Path, processes: int, packages: Sequence[Path]
) -> Iterable[Played]:
    asked = [{"name": c.name, "program": c.program, "case": c.setting} for c in cases]
    with tempfile.TemporaryDirectory(prefix="vramfit-exact-") as folder:
        file, out = Path(folder) / "cases", Path(folder) / "played"
        file.write_text(json.dumps(asked))
        player = [python, _PLAY, file, out, str(processes)]
        run = subprocess.run(
            [sys.executable, "-m", "vramfit", "run", "--gpu", card, "--json", "-", "--", *player],
            stdout=subprocess.DEVNULL,  # of the process that forks, which takes next to nothing
            check=False,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, [*packages, _PACKAGE])),
                "HF_HUB_OFFLINE": "1",  # all configs are in the cases
            },
        )
        if run.returncode != 0:
            raise BadInputError(f"vramfit run: ended with {run.returncode}; what it said is above")
        return read_jsonl(out)
