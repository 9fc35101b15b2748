"""Cases of which all is kept that `vramfit run --json` says, for vramfit-compare to name lines."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from exact.cases import Case
from programs import ROOT, BadInputError

from releases.known import Release

_PLAY = """
import importlib, json, sys
sys.path.insert(0, {folder!r})
importlib.import_module({program!r}).run(json.loads({case!r}))
"""
# Whatever lies before them is this machine's.
_PACKAGES = re.compile(r'[^"\s]*/site-packages/')


def told(case: Case, release: Release) -> dict[str, Any]:
    """As vramfit run --json has it, files named from their packages on."""
    with tempfile.TemporaryDirectory(prefix="vramfit-release-") as folder:
        script, answer = Path(folder, "case.py"), Path(folder, "answer.json")
        names = {"folder": str(ROOT / "data" / "reference"), "program": case.program}
        script.write_text(_PLAY.format(**names, case=json.dumps(case.setting)))
        flags = ["--gpu", case.card, "--json", str(answer)]
        ran = subprocess.run(
            [
                sys.executable,
                "-m",
                "vramfit",
                "run",
                *flags,
                "--",
                str(release.python),
                str(script),
            ],
            env=environment(release),
            capture_output=True,
            text=True,
            check=False,
        )
        if not answer.exists():
            raise BadInputError(f"{release.name}: {case.name}: {ran.stderr.strip()[-500:]}")
        text = _PACKAGES.sub("", answer.read_text()).replace(f"{folder}/", "")
    found: dict[str, Any] = json.loads(text.replace(f"{ROOT}/", ""))
    found.pop("kernels")  # thousands of names, of which nothing here is told
    return {**found, "command": case.name, "simulated": True}


def environment(release: Release) -> dict[str, str]:
    packages = [*release.packages, ROOT / "build" / "python"]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, packages)),
        "HF_HUB_OFFLINE": "1",
    }
