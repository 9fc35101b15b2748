"""Which component of a model's memory a block is, told from what holds it and what asked for it.

Parameters, gradients and optimizer state are what modules and optimizers hold; the rest is told
from where it was allocated.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from vramfit.standin._history import Block
from vramfit.standin._lines import Line, text, told
from vramfit.standin._origins import OF_OPTIMIZER, Origin

ACTIVATIONS, LOGITS, WORKSPACE, INPUTS = "activations", "logits", "workspace", "inputs"
KV_CACHE = "kv_cache"  # as well a stage's name, of an engine that makes its own


def component(block: Block) -> str:
    origin = block.origin
    if block.holder is not None:
        return block.holder
    if block.stage == KV_CACHE:
        return KV_CACHE
    of_file = None if origin is None or block.of_backward else origin.component
    if of_file is not None:
        return WORKSPACE if of_file is OF_OPTIMIZER else of_file
    # What cuBLAS keeps from its first product in backward on, and an op's own temporaries.
    is_output = origin is None or block.of_backward or block.requested in origin.outputs
    if not is_output or (block.stage == "backward" and block.outlived_step):
        return WORKSPACE
    if block.stage in ("load", "optimizer"):
        return INPUTS
    return LOGITS if origin is not None and _are_logits(block, origin) else ACTIVATIONS


def _are_logits(block: Block, origin: Origin) -> bool:
    """Or their gradients: not all that backward makes of such an op is as wide."""
    if not block.of_backward:
        return origin.makes_logits
    return origin.vocabulary > 0 and block.requested % origin.vocabulary == 0


def holders(blocks: list[Block]) -> list[dict[str, Any]]:
    """Bytes by component, line and line of the script, the most first."""
    bytes_: Counter[tuple[str, Line | None, Line | None, bool]] = Counter()
    count: Counter[tuple[str, Line | None, Line | None, bool]] = Counter()
    for block in blocks:
        key = component(block), *block.lines(), block.of_backward
        bytes_[key] += block.bytes
        count[key] += 1
    return [
        {
            "component": key[0],
            "line": told(key[1]),
            "script": told(key[2]),
            "in_backward": key[3],
            "bytes": size,
            "blocks": count[key],
            "line_text": text(key[1]),
            "script_text": text(key[2]),
        }
        for key, size in bytes_.most_common()
    ]
