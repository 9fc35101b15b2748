"""Factorizations of matrices that nobody knows: they are taken to succeed.

What cuSOLVER and cuBLAS say of it lies on the GPU, and PyTorch reads it from within its ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from vramfit.standin._door import ASSUMED
from vramfit.standin._guesses import is_known
from vramfit.standin._ops import results
from vramfit.standin._sized import expecting

if TYPE_CHECKING:
    from vramfit.standin._values import Values

_SUCCEEDS = "whether matrices can be factorized only a GPU computes: they can"
_READS = 8  # at most


def _succeeding(
    *first: int,
) -> Callable[[Values, Any, tuple[Any, ...], dict[str, Any]], Any]:
    """`first`: what it reads before, in order; then that nothing failed."""

    def handler(values: Values, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor = args[0]
        if not tensor.is_cuda:
            return values.repeated(func, args, kwargs)
        known = is_known(values, tensor)
        way = values.repeated if known else values.not_repeated
        result = expecting(values, [*first, *[0] * _READS], lambda: way(func, args, kwargs))
        if not known:
            values.reads[_SUCCEEDS] += 1
            for given in results(result):
                if given.dtype is torch.int32 and given.dim() < tensor.dim() - 1:  # no pivots
                    values.twins.write(given, 0, ASSUMED)
        return result

    return handler


LINALG = {
    "_linalg_det": _succeeding(),
    "_linalg_eigh": _succeeding(),
    "_linalg_slogdet": _succeeding(),
    "_linalg_solve_ex": _succeeding(),
    "_linalg_svd": _succeeding(),
    "linalg_cholesky_ex": _succeeding(),
    "linalg_eig": _succeeding(1),  # all is finite
    "linalg_inv_ex": _succeeding(),
    "linalg_ldl_factor_ex": _succeeding(),
    "linalg_lstsq": _succeeding(),
    "linalg_lu": _succeeding(),
    "linalg_lu_factor_ex": _succeeding(),
    "linalg_qr": _succeeding(),
}
