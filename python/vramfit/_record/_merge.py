"""Steps of runs at several points as one: which acts all of them have, and which some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vramfit._record._steps import Act

# So many acts are to be alike where runs go on together, and so far apart they are looked for.
_ALIKE, _FAR = 6, 400


@dataclass(slots=True)
class Merged:
    """An act, of each run that has it."""

    acts: dict[int, Act]  # by the run's number

    @property
    def any(self) -> Act:
        return next(iter(self.acts.values()))


class PartError(Exception):
    """Where two runs part, for people."""


def merged(runs: Sequence[Sequence[Act]]) -> list[Merged]:
    """Raises PartError where they do not come together again."""
    result = [Merged({0: act}) for act in runs[0]]
    for number, acts in enumerate(runs[1:], start=1):
        result = _with(result, acts, number)
    return result


def _with(known: list[Merged], acts: Sequence[Act], number: int) -> list[Merged]:
    keys, others = [each.any.key for each in known], [act.key for act in acts]
    result: list[Merged] = []
    at = other = 0
    while at < len(keys) or other < len(others):
        if at < len(keys) and other < len(others) and keys[at] == others[other]:
            known[at].acts[number] = acts[other]
            result.append(known[at])
            at, other = at + 1, other + 1
            continue
        ahead, ahead_there = _together_again(keys, at, others, other)
        result += known[at : at + ahead]
        result += [Merged({number: act}) for act in acts[other : other + ahead_there]]
        at, other = at + ahead, other + ahead_there
    return result


def _together_again(
    keys: list[tuple[object, ...]], at: int, others: list[tuple[object, ...]], other: int
) -> tuple[int, int]:
    for far in range(1, _FAR):
        for ahead in range(far + 1):
            here, there = at + ahead, other + far - ahead
            if here > len(keys) or there > len(others):
                continue
            following = keys[here : here + _ALIKE]
            if following == others[there : there + _ALIKE] and (
                following or (here, there) == (len(keys), len(others))
            ):
                return ahead, far - ahead
    raise PartError("from there on they have nothing in common")
