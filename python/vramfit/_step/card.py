"""The GPU that is there, and the libraries beside it, as PyTorch tells them: of no other vramfit
than this, so that any Python can ask."""

from __future__ import annotations

from typing import Any

#: Libraries whose releases memory depends on.
LIBRARIES = ("torch", "transformers", "peft", "accelerate", "bitsandbytes", "vramfit")


def card_of(torch: Any) -> dict[str, Any]:
    """The first GPU that PyTorch sees."""
    seen = torch.cuda.get_device_properties(0)
    return {
        "name": str(seen.name),
        "total": int(seen.total_memory),
        "capability": f"{seen.major}.{seen.minor}",
    }


def versions_of(torch: Any) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    cuda = getattr(getattr(torch, "version", None), "cuda", None)
    return {**found, **({"cuda": str(cuda)} if cuda else {})}


def lost_beside_allocator(torch: Any) -> int:
    """Of the card, by this process and all others."""
    free, total = torch.cuda.mem_get_info()
    return int(total - free - torch.cuda.memory_reserved())
