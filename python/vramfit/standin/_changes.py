"""What `vramfit run --advise` tries on a script: each change is made in its process, where the
script itself would make it.

A change tells each time that it was made, with the line that does the same in the script. One that
met nothing to change tells nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import torch

# From each by name: under `vramfit run` there is vramfit.standin alone, and no package above it.
from vramfit.standin._changed_arguments import Note
from vramfit.standin._changed_batches import micro_batch
from vramfit.standin._changed_models import checkpointing, fused_loss, no_cache
from vramfit.standin._changed_optimizers import adamw_8bit, fused_adamw
from vramfit.standin._lora import lora


def _expandable_segments(note: Note) -> None:
    """PyTorch reads the variable, which came with the process, as CUDA starts."""

    def look() -> None:
        if torch.cuda.memory._snapshot()["allocator_settings"]["expandable_segments"]:
            name = (
                "PYTORCH_ALLOC_CONF" if torch.__version__ >= (2, 9) else "PYTORCH_CUDA_ALLOC_CONF"
            )
            note(f"{name}=expandable_segments:True")

    torch.cuda._lazy_call(look)


# By name, with the package that it needs.
CHANGES: dict[str, tuple[Callable[[Note], None], str | None]] = {
    "expandable_segments": (_expandable_segments, None),
    "no_cache": (no_cache, None),
    "fused_adamw": (fused_adamw, None),
    "fused_loss": (fused_loss, "liger_kernel"),
    "adamw_8bit": (adamw_8bit, "bitsandbytes"),
    "micro_batch": (micro_batch, None),
    "checkpointing": (checkpointing, None),
    "lora": (lora, "peft"),
}


class Changes:
    """Those of this process, from torch's import on."""

    def __init__(self, names: list[str]) -> None:
        self._made: dict[str, Counter[str]] = {name: Counter() for name in names}
        self._lacks: dict[str, str] = {}
        for name in names:
            make, package = CHANGES[name]
            if package is not None and find_spec(package) is None:
                self._lacks[name] = package
            else:
                make(partial(_count, self._made[name]))

    def told(self) -> dict[str, dict[str, object]]:
        """Of each change how often which line was `made`, and the package that it `lacks`."""
        return {
            name: {"made": dict(made), "lacks": self._lacks.get(name)}
            for name, made in self._made.items()
        }


def _count(made: Counter[str], line: str) -> None:
    made[line] += 1
