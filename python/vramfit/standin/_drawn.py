"""Integers that a GPU draws at random: the numbers that its generator gives, so that a prompt of
random tokens has the padding in it that it would have.

Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, counted as
PyTorch's distribution_nullary_kernel does it (aten/src/ATen/native/cuda/DistributionTemplates.h).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import arange

from vramfit.standin._handlers import Handler, Known
from vramfit.standin._twins import is_small

_WORD = 0xFFFFFFFF
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10

_BLOCK = 256  # threads
_AT_ONCE = 4  # numbers of a thread's, which one turn of its generator gives
_MOST = 1 << 28  # ranges from here on take two words a number


def philox(seed: int, turn: torch.Tensor, thread: torch.Tensor) -> torch.Tensor:
    """Four words of 32 bits, in int64, each [4, *shape of `turn` and `thread`*]."""
    words = [part >> by & _WORD for part in (turn, thread) for by in (0, 32)]
    keys = [seed & _WORD, seed >> 32 & _WORD]
    for _ in range(_ROUNDS):
        first, second = words[0] * _MULTIPLIERS[0], words[2] * _MULTIPLIERS[1]
        words = [
            second >> 32 & _WORD ^ words[1] ^ keys[0],
            second & _WORD,
            first >> 32 & _WORD ^ words[3] ^ keys[1],
            first & _WORD,
        ]
        keys = [key + step & _WORD for key, step in zip(keys, _WEYL, strict=True)]
    return torch.stack(words)


def _integers(count: int, seed: int, offset: int, threads: int) -> torch.Tensor:
    """`offset`: the generator's before, in words. A thread's turn gives elements that lie as many
    apart as there are threads."""
    places = arange(count)
    turns = places // (threads * _AT_ONCE)
    words = philox(seed, offset // _AT_ONCE + turns, places % threads)
    return words.gather(0, (places // threads % _AT_ONCE)[None])[0]


def _launch(tensor: torch.Tensor) -> tuple[int, int]:
    """Threads, and by how much the generator's offset grows."""
    card = torch.cuda.get_device_properties(tensor.device)
    most = card.multi_processor_count * (card.max_threads_per_multi_processor // _BLOCK)
    threads = _BLOCK * min(-(-tensor.numel() // _BLOCK), most)
    return threads, ((tensor.numel() - 1) // (threads * _AT_ONCE) + 1) * _AT_ONCE


def seed_generators() -> None:
    """As no script does that lets PyTorch choose: a dry run is the same each time. A script's own
    seed comes after it."""

    def seed() -> None:
        for generator in torch.cuda.default_generators:
            generator.manual_seed(0)

    torch.cuda._lazy_call(seed)


def _drawn(values: Known, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """randint of a size, random_ of a tensor."""
    bounds = [value for value in args if isinstance(value, int)]
    low, high = bounds if len(bounds) == 2 else (0, *(bounds or [0]))
    result = values.repeated(func, args, kwargs)
    if (
        not 0 < high - low < _MOST
        or not result.is_cuda
        or not is_small(result)
        or not result.is_contiguous()
        or result.dtype.is_floating_point
        or result.numel() == 0
        or torch.cuda.is_current_stream_capturing()
    ):
        return result
    generator = kwargs.get("generator") or torch.cuda.default_generators[result.device.index]
    threads, grown = _launch(result)
    offset = generator.get_offset() - grown
    words = _integers(result.numel(), generator.initial_seed(), offset, threads)
    values.twins.write(result, (words % (high - low) + low).view(result.shape))
    return result


DRAWN: dict[str, Handler] = dict.fromkeys(("randint", "random_"), _drawn)
