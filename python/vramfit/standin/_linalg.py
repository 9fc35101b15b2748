"""Factorizations of matrices that nobody knows: they are taken to succeed.

What cuSOLVER and cuBLAS say of it lies on the GPU, and PyTorch reads it from within its ops.
"""

from __future__ import annotations

from typing import Any

import torch

from vramfit.standin._door import ASSUMED, KNOWN
from vramfit.standin._guesses import is_known
from vramfit.standin._handlers import Handler, Known
from vramfit.standin._ops import results
from vramfit.standin._sized import expecting

_SUCCEEDS = "whether matrices can be factorized only a GPU computes: they can"
_READS = 8  # at most


def _succeeding(*first: int) -> Handler:
    """`first`: what it reads before, in order; then that nothing failed."""

    def handler(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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


def _check(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    codes, *more = args
    if not codes.is_cuda:
        return func(*args, **kwargs)
    if values.twins.knowledge(codes) == KNOWN:
        return func(values.twins.of(codes), *more, **kwargs)
    return expecting(values, [0], lambda: func(*args, **kwargs))


LINALG: dict[str, Handler] = {
    **dict.fromkeys(
        (
            "_linalg_det", "_linalg_eigh", "_linalg_slogdet", "_linalg_solve_ex", "_linalg_svd",
            "cholesky", "cholesky_inverse", "linalg_cholesky_ex", "linalg_inv_ex",
            "linalg_ldl_factor_ex", "linalg_lstsq", "linalg_lu", "linalg_lu_factor_ex",
            "linalg_pinv", "linalg_qr",
        ),
        _succeeding(),
    ),
    **dict.fromkeys(("_linalg_eigvals", "linalg_eig", "linalg_eigvals"), _succeeding(1)),  # finite
    "_linalg_check_errors": _check,
}  # fmt: skip
