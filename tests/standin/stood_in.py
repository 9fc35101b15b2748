"""Python scripts on the stand-in, in processes of their own."""

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("VRAMFIT_PACKAGE") or ROOT / "build" / "python")
# A Python that has torch, transformers and what goes with them: `make exact` puts it there.
EXACT = Path(os.environ.get("VRAMFIT_EXACT") or ROOT / "build" / "exact" / "bin" / "python")

# Bytes that torchaudio's import leaves on the card where a model is built there: in forked()
# processes it was imported before.
OF_TORCHAUDIO = 512

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


def _begin(told: str) -> str:
    return _BEGIN.format(home=str(PACKAGE / "vramfit" / "standin"), facts=told)


@functools.cache
def forked() -> Path:
    """A program that is called as Python is, and has torch in no time: see ready.py. One GPU,
    whichever, is there."""
    folder = tempfile.mkdtemp(prefix="vramfit-ready-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["READY"] = place = f"{folder}/socket"
    ready = subprocess.Popen(
        [EXACT, "-c", f"{_begin(facts())}import ready\nready.serve({place!r})"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "PYTHONHASHSEED": "0",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # of processes each would import torch
            "PYTHONPATH": str(Path(__file__).parent),
        },
    )
    atexit.register(ready.communicate)
    assert ready.stdout.readline() == b"ready\n"
    return Path(__file__).with_name("forked")


def play(
    script: str, *, python: Path | None = None, gpu: str = "h100-80gb", **environment: str
) -> dict:
    """What the script prints last, as JSON; it has `standin`, started. `python`: the one that runs
    it from its beginning on, torch's import among it; otherwise it is forked() after that."""
    told = facts(gpu)
    line = [forked(), "-c", script] if python is None else [python, "-c", _begin(told) + script]
    run = subprocess.run(
        line,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "FACTS": told, **environment},
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


def run_script(
    folder: Path,
    script: str,
    *flags,
    gpu: str | None = "rtx4090",
    before=(EXACT,),
    after=(),
    environment: dict[str, str] | None = None,
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
        env={
            **os.environ,
            "PYTHONPATH": str(PACKAGE),
            "HF_HUB_OFFLINE": "1",
            **(environment or {}),
        },
        check=False,
        timeout=300,
    )
    ran.answer = json.loads(ran.stdout) if ran.stdout else None
    return ran
