"""`--advise`: what would make the script fit, tried on it as it is.

Each change by itself that lowers what dominates; where none is enough, the best with others, one
after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from vramfit._dry_run._adjustments import ADJUSTMENTS, Adjustment, next_to_try, worth_trying
from vramfit._dry_run._result import Json
from vramfit._dry_run._trials import Ran, TrialFailedError, Trials

FITS, TIGHT, OOM = "FITS", "TIGHT", "OOM"

Way = tuple[list[Adjustment], Ran]


class _Advising:
    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self.helped: list[Way] = []
        self.impossible: set[str] = set()  # changes that cannot be made
        self.left_out: list[Json] = []

    def make(self, adjustments: list[Adjustment], than: Json) -> Ran | None:
        """None where it takes no less `than` this, which `left_out` tells."""
        print(f"vramfit: tries {_label(adjustments)}", file=sys.stderr)
        try:
            ran = self._trials.run(adjustments)
        except TrialFailedError as error:
            why: str | None = str(error)
        else:
            why = _not_made(adjustments, ran.changes)
            if why is None and ran.answer["total"] < than["total"]:
                self.helped.append((adjustments, ran))
                return ran
        if why is not None:
            self.impossible.add(adjustments[-1].name)
        self.leave_out(adjustments, why or "it takes no less")
        return None

    def leave_out(self, adjustments: list[Adjustment], why: str) -> None:
        """Nothing that helps."""
        label = _label(adjustments) or "as it is"
        self.left_out.append({"changes": _names(adjustments), "label": label, "why": why})


def advise(run_as_it_is: Callable[[], Json], trials: Trials) -> Json:
    """The key `advice`. `run_as_it_is` gives the run without changes, with its verdict; where
    memory ran out, one on a card with room. It may raise TrialFailedError."""
    advising = _Advising(trials)
    total = None
    try:
        as_it_is = run_as_it_is()
    except TrialFailedError as error:
        advising.leave_out([], str(error))
    else:
        total = as_it_is["total"]
        if as_it_is["verdict"] != FITS:
            _try(advising, as_it_is)
    ways = sorted(_without_supersets(advising.helped), key=_cheapest)
    return {
        "total_as_it_is": total,
        "ways": [_told(adjustments, ran) for adjustments, ran in ways],
        "left_out": advising.left_out,
    }


def _try(advising: _Advising, as_it_is: Json) -> None:
    for adjustment in worth_trying(as_it_is):
        advising.make([adjustment], as_it_is)
    if not advising.helped or any(ran.answer["verdict"] == FITS for _, ran in advising.helped):
        return
    adjustments, best = min(advising.helped, key=lambda way: way[1].answer["total"])
    tried = {adjustment.name for adjustment in adjustments} | advising.impossible
    while best.answer["verdict"] != FITS:
        more = [
            adjustment for adjustment in worth_trying(best.answer) if adjustment.name not in tried
        ]
        if not more:
            return
        further = [*adjustments, next_to_try(more, best.answer)]
        tried.add(further[-1].name)
        ran = advising.make(further, best.answer)
        if ran is not None:
            adjustments, best = further, ran
    _leave_out_needless(advising, adjustments, as_it_is)


def _leave_out_needless(advising: _Advising, adjustments: list[Adjustment], as_it_is: Json) -> None:
    """What costs most first; the last one was needed."""
    for adjustment in sorted(adjustments[:-1], key=ADJUSTMENTS.index, reverse=True):
        fewer = [each for each in adjustments if each is not adjustment]
        ran = advising.make(fewer, as_it_is) if len(fewer) > 1 else None
        if ran is not None and ran.answer["verdict"] == FITS:
            adjustments = fewer


def _without_supersets(ways: list[Way]) -> list[Way]:
    """Of what has all the changes of another that fits, and more, nobody has any use."""
    enough = [{*_names(adjustments)} for adjustments, ran in ways if ran.answer["verdict"] == FITS]
    return [way for way in ways if not any(fewer < {*_names(way[0])} for fewer in enough)]


def _not_made(adjustments: list[Adjustment], changes: Json) -> str | None:
    for adjustment in adjustments:
        told = changes[adjustment.name]
        if told["lacks"]:
            return f"not applicable: {told['lacks']} is not installed"
        if not told["made"]:
            return f"not applicable: {adjustment.met_nothing}"
    return None


def _cheapest(way: Way) -> tuple[int, int, list[int]]:
    adjustments, ran = way
    verdict = [FITS, TIGHT, OOM].index(ran.answer["verdict"])
    return verdict, len(adjustments), [ADJUSTMENTS.index(adjustment) for adjustment in adjustments]


def _told(adjustments: list[Adjustment], ran: Ran) -> Json:
    adjustments = sorted(adjustments, key=ADJUSTMENTS.index)
    return {
        "changes": _names(adjustments),
        "label": _label(adjustments),
        "costs": [adjustment.costs for adjustment in adjustments if adjustment.costs],
        "code": [
            line for adjustment in adjustments for line in ran.changes[adjustment.name]["made"]
        ],
        "made": {
            adjustment.name: sum(ran.changes[adjustment.name]["made"].values())
            for adjustment in adjustments
        },
        "total": ran.answer["total"],
        "margin": ran.answer["margin"],
        "verdict": ran.answer["verdict"],
    }


def _names(adjustments: list[Adjustment]) -> list[str]:
    return [adjustment.name for adjustment in sorted(adjustments, key=ADJUSTMENTS.index)]


def _label(adjustments: list[Adjustment]) -> str:
    return ", ".join(adjustment.label for adjustment in sorted(adjustments, key=ADJUSTMENTS.index))
