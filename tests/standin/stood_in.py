"""Python scripts on the stand-in, in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("VRAMFIT_PACKAGE") or ROOT / "build" / "python")
# A Python that has torch, transformers and what goes with them: `make exact` puts it there.
EXACT = Path(os.environ.get("VRAMFIT_EXACT") or ROOT / "build" / "exact" / "bin" / "python")

needs_torch = pytest.mark.skipif(not EXACT.exists(), reason=f"no torch: {EXACT} is not there")

# As hook/sitecustomize.py does it: the package's core is built for another Python.
_BEGIN = """
import json, sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location(
    "vramfit.standin", {home!r} + "/__init__.py", submodule_search_locations=[{home!r}]
)
standin = module_from_spec(spec)
sys.modules["vramfit.standin"] = standin
spec.loader.exec_module(standin)
from vramfit.standin._session import start
start({facts!r})
"""


def facts(gpu="h100-80gb", **more) -> str:
    sys.path.insert(0, str(PACKAGE))
    from vramfit import _core  # noqa: PLC0415

    told = json.loads(_core.card_facts(json.dumps({"gpu": gpu})))
    return json.dumps({**told, "strict": False, "late_events": False, **more})


def play(script: str, *, python: Path = EXACT, gpu: str = "h100-80gb", **environment: str) -> dict:
    """What the script prints last, as JSON; it has `standin`, started, and imports torch itself."""
    home = str(PACKAGE / "vramfit" / "standin")
    begin = _BEGIN.format(home=home, facts=facts(gpu))
    run = subprocess.run(
        [python, "-c", begin + script],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


def run_script(
    folder: Path, script: str, *flags, gpu: str | None = "rtx4090", before=(EXACT,), after=()
) -> subprocess.CompletedProcess[str]:
    """vramfit run as people use it, of a script's text; `answer`: what it says as JSON."""
    file = folder / "train.py"
    file.write_text(script)
    card = () if gpu is None else ("--gpu", gpu)
    line = [sys.executable, "-m", "vramfit", "run", *card, "--json", "-", *flags, "--"]
    ran = subprocess.run(
        [*map(str, line), *map(str, before), str(file), *after],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), "HF_HUB_OFFLINE": "1"},
        check=False,
        timeout=300,
    )
    ran.answer = json.loads(ran.stdout) if ran.stdout else None
    return ran
