"""Lets pytest's own process import a torch whose NVIDIA libraries are not installed, so that tests
that import it can be collected. It finds no GPU; tests that are marked get theirs elsewhere."""

from __future__ import annotations

import json
import sys
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path

from vramfit import _core

# By torch, beside what CUDA's toolkit has.
_WANTED = ("cudart", "cudnn", "cufile", "nccl")


def let_torch_load() -> None:
    """Where it could not."""
    if "torch" in sys.modules or find_spec("nvidia") is not None:
        return
    torch = find_spec("torch")
    if torch is None or torch.origin is None:
        return
    if not Path(torch.origin).with_name("lib").joinpath("libtorch_cuda.so").exists():
        return  # it is built without CUDA, and wants none of them
    if all(map(find_library, _WANTED)):
        return

    from vramfit.standin._door import StandInError
    from vramfit.standin._session import start

    facts = {
        **json.loads(_core.card_facts(json.dumps({"vram": "24GiB"}))),
        "devices": 0,
        "strict": False,
        "late_events": False,
    }
    try:
        start(json.dumps(facts), watches=False)
    except StandInError:
        return  # another system, say: torch says itself what it lacks
