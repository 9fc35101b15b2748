"""One run on the GPU that is there, and what it took, for `vramfit submit-case`."""

from __future__ import annotations

import torch

from vramfit._step.asked import Asked, tell
from vramfit._step.card import card_of, lost_beside_allocator, versions_of
from vramfit._step.models import DEVICE
from vramfit._step.run import steps_of
from vramfit.standin._door import StandInError

_STEPS = 3  # optimizer states meet activations in the second; nothing is new in the third


def measure(asked: Asked) -> None:
    """Tells the card, releases, what PyTorch's allocator handed out and held at most (None: it ran
    out), and what the card lost beside it before and after; or why it cannot be run."""
    if not torch.cuda.is_available():
        tell(asked, refused=f"PyTorch {torch.__version__} sees no GPU in this machine")
        return
    torch.zeros(1, device=DEVICE)  # with CUDA's context
    before = lost_beside_allocator(torch)
    torch.cuda.reset_peak_memory_stats()
    model, ran_out = None, False
    try:
        model = steps_of(asked, _STEPS)  # and lives until all is read
    except torch.OutOfMemoryError:
        ran_out = True
    except StandInError as refusal:
        tell(asked, refused=str(refusal))
        return
    torch.cuda.synchronize()
    took = {
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
    }
    tell(
        asked,
        gpu=card_of(torch),
        versions=versions_of(torch),
        beside=[before, lost_beside_allocator(torch)],
        measured=None if ran_out else took,
    )
    del model
