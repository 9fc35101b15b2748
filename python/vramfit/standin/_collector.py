"""Python's collector, which looks at all objects whenever enough were made, whoever made them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def resting() -> Iterator[None]:
    """Meanwhile it does not run: what is made is the stand-in's, or torch's compiler's, and hardly
    ever garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
