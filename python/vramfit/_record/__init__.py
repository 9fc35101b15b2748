"""`vramfit record`: what a script asks of PyTorch's allocator, kept for any size."""

from vramfit._record._command import record

__all__ = ["record"]
