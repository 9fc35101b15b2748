"""Sizes as vramfit's flags are given them: 24GB, 24GiB, plain bytes."""

from __future__ import annotations

import json

from vramfit import _core
from vramfit._bad_input import bad_input

_ANY_CARD = {"vram": "24GiB"}


def size_of(named: str, text: str) -> int:
    """Bytes. Raises BadInput, in `named`'s name."""
    try:
        facts = json.loads(_core.card_facts(json.dumps({**_ANY_CARD, "headroom": text})))
    except _core.BadInput as error:
        raise bad_input(f"{named}: {str(error).removeprefix('headroom: ')}") from None
    size: int = facts["headroom"]
    return size
