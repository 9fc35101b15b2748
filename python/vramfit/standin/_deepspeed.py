"""DeepSpeed's own optimizers, whose kernels it compiles as they are made: for the GPU by nvcc, for
the host for minutes. They write into what Python allocated and allocate nothing (`csrc/adam`,
`csrc/lion`, `csrc/adagrad`), so that they can do nothing here.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from vramfit.standin._imports import when_imported

_OPTIMIZERS = ("fused_adam", "fused_lion", "cpu_adam", "cpu_lion", "cpu_adagrad")


class _DoesNothing:
    """In place of a compiled module."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_args, **_kwargs: None


def without_kernels() -> None:
    """For as long as the process lives."""
    when_imported("deepspeed.ops.op_builder.builder", _be_loaded)


def _be_loaded(module: ModuleType) -> None:
    module.OpBuilder._loaded_ops.update({name: _DoesNothing() for name in _OPTIMIZERS})
