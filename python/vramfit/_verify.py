"""A recorded run beside the prediction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from vramfit import _core
from vramfit._keywords import written
from vramfit._questions import flags_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from vramfit._flags import Asking


@dataclass(frozen=True)
class Verification:
    """Where a recording and the prediction agree, and where they part."""

    agree: bool
    _json: str
    _text: str
    not_honoured: tuple[str, ...] = ()  #: what was given and does not count, a line each

    def to_dict(self) -> dict[str, Any]:
        """What `vramfit --verify FILE --json` prints."""
        values: dict[str, Any] = json.loads(self._json)
        return values

    def __str__(self) -> str:
        return self._text


def verify(snapshot: str | PathLike[str] | bytes, **flags: Unpack[Asking]) -> Verification:
    """A snapshot that PyTorch recorded (torch.cuda.memory._dump_snapshot), beside what is predicted
    for the run.

    `snapshot`: its path, or the pickle's bytes, of which nothing is executed; keywords as for
    `estimate`. Raises BadInput.
    """
    pickle: bytes | None = None
    if isinstance(snapshot, bytes):
        pickle, called = snapshot, "snapshot"
    else:
        called = fspath(snapshot)
    given, not_honoured = flags_of(dict(flags))
    return Verification(*_core.verify(written(given), pickle, called), not_honoured)
