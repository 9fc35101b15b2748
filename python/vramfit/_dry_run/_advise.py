"""`--advise`: what would make the script fit, tried on it as it is.

Each change by itself that lowers what dominates; where none is enough, the best with others, one
after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from vramfit._dry_run._levers import LEVERS, Lever, next_to_try, worth_trying
from vramfit._dry_run._result import Json
from vramfit._dry_run._trials import Ran, TrialFailedError, Trials

FITS, TIGHT, OOM = "FITS", "TIGHT", "OOM"

Way = tuple[list[Lever], Ran]


class _Advising:
    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self.helped: list[Way] = []
        self.impossible: set[str] = set()  # changes that cannot be made
        self.left_out: list[Json] = []

    def make(self, levers: list[Lever], than: Json) -> Ran | None:
        """None where it takes no less `than` this, which `left_out` tells."""
        print(f"vramfit: tries {_label(levers)}", file=sys.stderr)
        try:
            ran = self._trials.run(levers)
        except TrialFailedError as error:
            why: str | None = str(error)
        else:
            why = _not_made(levers, ran.changes)
            if why is None and ran.answer["total"] < than["total"]:
                self.helped.append((levers, ran))
                return ran
        if why is not None:
            self.impossible.add(levers[-1].name)
        self.leave_out(levers, why or "it takes no less")
        return None

    def leave_out(self, levers: list[Lever], why: str) -> None:
        """Nothing that helps."""
        label = _label(levers) or "as it is"
        self.left_out.append({"changes": _names(levers), "label": label, "why": why})


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
        "ways": [_told(levers, ran) for levers, ran in ways],
        "left_out": advising.left_out,
    }


def _try(advising: _Advising, as_it_is: Json) -> None:
    for lever in worth_trying(as_it_is):
        advising.make([lever], as_it_is)
    if not advising.helped or any(ran.answer["verdict"] == FITS for _, ran in advising.helped):
        return
    levers, best = min(advising.helped, key=lambda way: way[1].answer["total"])
    tried = {lever.name for lever in levers} | advising.impossible
    while best.answer["verdict"] != FITS:
        more = [lever for lever in worth_trying(best.answer) if lever.name not in tried]
        if not more:
            return
        further = [*levers, next_to_try(more, best.answer)]
        tried.add(further[-1].name)
        ran = advising.make(further, best.answer)
        if ran is not None:
            levers, best = further, ran
    _leave_out_needless(advising, levers, as_it_is)


def _leave_out_needless(advising: _Advising, levers: list[Lever], as_it_is: Json) -> None:
    """What costs most first; the last one was needed."""
    for lever in sorted(levers[:-1], key=LEVERS.index, reverse=True):
        fewer = [each for each in levers if each is not lever]
        ran = advising.make(fewer, as_it_is) if len(fewer) > 1 else None
        if ran is not None and ran.answer["verdict"] == FITS:
            levers = fewer


def _without_supersets(ways: list[Way]) -> list[Way]:
    """Of what has all the changes of another that fits, and more, nobody has any use."""
    enough = [{*_names(levers)} for levers, ran in ways if ran.answer["verdict"] == FITS]
    return [way for way in ways if not any(fewer < {*_names(way[0])} for fewer in enough)]


def _not_made(levers: list[Lever], changes: Json) -> str | None:
    for lever in levers:
        told = changes[lever.name]
        if told["lacks"]:
            return f"not applicable: {told['lacks']} is not installed"
        if not told["made"]:
            return f"not applicable: {lever.met_nothing}"
    return None


def _cheapest(way: Way) -> tuple[int, int, list[int]]:
    levers, ran = way
    verdict = [FITS, TIGHT, OOM].index(ran.answer["verdict"])
    return verdict, len(levers), [LEVERS.index(lever) for lever in levers]


def _told(levers: list[Lever], ran: Ran) -> Json:
    levers = sorted(levers, key=LEVERS.index)
    return {
        "changes": _names(levers),
        "label": _label(levers),
        "costs": [lever.costs for lever in levers if lever.costs],
        "code": [line for lever in levers for line in ran.changes[lever.name]["made"]],
        "made": {lever.name: sum(ran.changes[lever.name]["made"].values()) for lever in levers},
        "total": ran.answer["total"],
        "margin": ran.answer["margin"],
        "verdict": ran.answer["verdict"],
    }


def _names(levers: list[Lever]) -> list[str]:
    return [lever.name for lever in sorted(levers, key=LEVERS.index)]


def _label(levers: list[Lever]) -> str:
    return ", ".join(lever.label for lever in sorted(levers, key=LEVERS.index))
