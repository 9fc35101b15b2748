"""The stand-in by import, where there is no command to put `vramfit run` before."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from vramfit.standin._door import StandInError
from vramfit.standin._session import Watcher, door
from vramfit.standin._session import start as begin

if TYPE_CHECKING:
    from vramfit.standin._watched import Watched


class Run(Watcher):
    """What this process took so far of its GPU: shown as `vramfit run` prints it."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        self._watched: Watched | None = None

    def loaded(self) -> None:
        from vramfit.standin._values import name_ops
        from vramfit.standin._watched import Watched

        settings = {
            "steps": None,
            "longest": False,
            "records": False,
            "acts": False,
            "all_stages": False,
        }
        self._watched = Watched(door(), settings, name_ops, lambda how: None)

    def to_dict(self) -> dict[str, Any]:
        """As `vramfit run --json` has it."""
        from vramfit import _core

        answer = self._answer()
        return {**answer, **json.loads(_core.dry_run_verdict(json.dumps(answer)))}

    def _answer(self) -> dict[str, Any]:
        from vramfit._dry_run import _result, _words

        if self._watched is None:
            raise StandInError("torch was not imported yet")
        took = {**self._watched.took("open"), "processes": 1, "rank": None, "in_kernel": True}
        status = 1 if self._watched.ran_out else 0
        answer = _result.answer(self._facts, "this Python", status, took)
        answer["about"] = _words.about(answer)
        answer["notes"] = _words.notes(answer, self._facts)
        return answer

    def __repr__(self) -> str:
        from vramfit import _core

        if self._watched is None:
            return f"on {self._facts['title']}, which is not there: import torch"
        return _core.dry_run_text(json.dumps(self._answer()))


def start(
    *, gpu: str | None = None, vram: str | None = None, headroom: str | None = None, gpus: int = 1
) -> Run:
    """Makes torch, once it is imported, find that GPU, which need not be there.

    Flags are those of `vramfit run`. Raises vramfit.BadInput where they say no card or the
    environment hides it, StandInError where torch is there already.
    """
    from vramfit import _core
    from vramfit._dry_run._child import check_visible, compiled_apart
    from vramfit.standin._run import refuse_another

    refuse_another()
    check_visible(gpus)
    os.environ.update(compiled_apart())
    named = {"gpu": gpu, "vram": vram, "headroom": headroom}
    flags = {name: value for name, value in named.items() if value is not None}
    facts = {
        **json.loads(_core.card_facts(json.dumps(flags))),
        "devices": gpus,
        "strict": False,
        "late_events": False,
    }
    run = Run(facts)
    begin(json.dumps(facts), run)
    return run
