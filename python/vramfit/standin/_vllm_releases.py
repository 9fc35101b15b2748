"""Where vLLM's releases have what is looked for: 0.26's names and 0.33's.

Another release may have others. It starts all the same, and a note says what is not told of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from vramfit.standin._imports import when_imported
from vramfit.standin._values import assume

# What plans its cache, and what serves by HTTP: 0.26's, 0.33's.
PLANNERS = ("vllm.v1.core.kv_cache_utils", "vllm.v1.core.kv_cache_planning")
LAUNCHERS = ("vllm.entrypoints.launcher", "vllm.entrypoints.launchers.launcher")

# How it shows that an object is not what it is taken to be.
_OTHERWISE = (AttributeError, ImportError, KeyError, TypeError)


def when_has(modules: tuple[str, ...], name: str, change: Callable[[Any], None]) -> None:
    """Changes those of the modules that have `name`, each right after it is executed; the last is
    expected to."""

    def change_it(module: Any) -> None:
        if hasattr(module, name) or module.__name__ == modules[-1]:
            tell(change, module)

    for module in modules:
        when_imported(module, change_it)


def tell(what: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    """Calls what goes by names of vLLM's; the engine goes on where they are not there."""
    try:
        what(*args, **kwargs)
    except _OTHERWISE as error:
        version = getattr(sys.modules["vllm"], "__version__", "of no version")
        kind = type(error).__name__
        assume(
            f"vLLM {version} is not as those that were tried, and not all is told of it: "
            f"{kind}, {error}"
        )
