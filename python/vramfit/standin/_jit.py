"""Libraries that compile their kernels with nvcc as they are first asked for: FlashInfer.

No kernel runs here, so none is compiled, which takes minutes and wants a CUDA toolkit. What they
write into is allocated in Python before they are called.
"""

from __future__ import annotations

from typing import Any

from vramfit.standin._imports import when_imported


def compile_nothing() -> None:
    when_imported("flashinfer.jit.core", _attend)


def _attend(core: Any) -> None:
    if hasattr(core, "JitSpec"):  # another release compiles, and says what it lacks for it
        core.JitSpec.build_and_load = lambda _: _Kernels()


class _Kernels:
    """A module of whatever functions: they do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing


def _nothing(*_: Any, **__: Any) -> None:
    return None
