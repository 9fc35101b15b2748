"""Recurrent networks: no rule tells what cuDNN's keep and work in, so PyTorch's own run."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

_INSTEAD = "of RNNs PyTorch's own kernels ran, as with torch.backends.cudnn.enabled = False"


def run_without_cudnn(assumed: Counter[str]) -> None:
    """From now on, for as long as the process lives; `assumed` counts how often that was."""

    def without(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            enabled = torch._C._get_cudnn_enabled()
            if not enabled or not args[0].is_cuda:
                return function(*args, **kwargs)
            assumed[_INSTEAD] += 1
            torch._C._set_cudnn_enabled(False)
            try:
                return function(*args, **kwargs)
            finally:
                torch._C._set_cudnn_enabled(enabled)

        return run

    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        setattr(torch._VF, name, without(getattr(torch._VF, name)))
    # Weights need not lie behind each other for it.
    torch._use_cudnn_rnn_flatten_weight = lambda: False  # type: ignore[assignment]
