"""What two answers differ by, as `--format json` has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from vramfit._compare._answers import Answer, Held, Json, Stage
from vramfit._compare._places import Places

SAME, BETTER, WORSE = "same", "better", "worse"
NEW, GONE, NOT_COMPARABLE = "new", "gone", "not comparable"

Tolerance = Callable[[int], float]  # bytes that a level of so many may differ by

_Key = tuple[str, bool, str, str, bool]  # component, in_backward, line, script, of the new code


def compared(
    name: str, old: Answer, new: Answer, tolerance: Tolerance, *, across_cards: bool
) -> Json:
    """A row."""
    levels = list(_levels(old, new, tolerance))
    outcome, why = _outcome(old, new, levels, across_cards)
    return {
        "name": name,
        "outcome": outcome,
        "why": why,
        "verdict": [old.verdict, new.verdict],
        "facts": {
            fact: [old.facts.get(fact, ""), new.facts.get(fact, "")]
            for fact in {**old.facts, **new.facts}
            if old.facts.get(fact, "") != new.facts.get(fact, "")
        },
        "levels": levels,
        "moved": list(_moved(old, new)),
    }


def gone(name: str) -> Json:
    """A row that the new side has not."""
    return _alone(name, GONE, None, None)


def added(name: str, new: Answer) -> Json:
    """A row that the old side has not: worse than nothing where it fails or does not fit."""
    why = None
    if new.verdict is None:
        why = "the script itself fails"
    elif not new.fits:
        why = "it does not fit"
    return _alone(name, WORSE if why else NEW, why, new.verdict)


def _alone(name: str, outcome: str, why: str | None, verdict: str | None) -> Json:
    return {
        "name": name,
        "outcome": outcome,
        "why": why,
        "verdict": [None, verdict],
        "facts": {},
        "levels": [],
        "moved": [],
    }


def _levels(old: Answer, new: Answer, tolerance: Tolerance) -> Iterable[Json]:
    pairs = [(name, size, new.levels[name]) for name, size in old.levels.items()]
    pairs += [
        (f"allocated in {name}", stage.peak, new.stages[name].peak)
        for name, stage in old.stages.items()
        if name in new.stages
    ]
    for name, before, after in pairs:
        outcome = SAME
        if abs(after - before) > tolerance(before):
            outcome = WORSE if after > before else BETTER
        yield {"name": name, "old": before, "new": after, "outcome": outcome}


def _outcome(
    old: Answer, new: Answer, levels: list[Json], across_cards: bool
) -> tuple[str, str | None]:
    ran_out = [answer.ended in ("memory", "refused") for answer in (old, new)]
    both = "both ran out of memory, and levels end there: on a larger --vram"
    for holds, outcome, why in (
        (old.gpu != new.gpu and not across_cards, NOT_COMPARABLE, "another card: --across-cards"),
        (old.verdict is None, NOT_COMPARABLE, "the old script itself failed"),
        (new.verdict is None, WORSE, "the script itself fails"),
        (all(ran_out), NOT_COMPARABLE, both),
        (ran_out[1], WORSE, "it runs out of memory"),
        (ran_out[0], BETTER, "it does not run out of memory any more"),
        (old.fits and not new.fits, WORSE, "it does not fit any more"),
    ):
        if holds:
            return outcome, why
    outcomes = {level["outcome"] for level in levels}
    return WORSE if WORSE in outcomes else BETTER if BETTER in outcomes else SAME, None


def _moved(old: Answer, new: Answer) -> Iterable[Json]:
    """Stages whose peaks are others, the one of the run's peak first, then what moved most."""
    places = Places(old, new)
    both = [(stage, new.stages[name]) for name, stage in old.stages.items() if name in new.stages]
    differ = [(before, after) for before, after in both if before.peak != after.peak]
    differ.sort(key=lambda pair: (pair[1].name != new.peak, -abs(pair[1].peak - pair[0].peak)))
    for before, after in differ:
        yield {
            "stage": after.name,
            "step": [before.step, after.step],
            "peak": [before.peak, after.peak],
            "lines": _lines(before, after, places),
        }


def _lines(old: Stage, new: Stage, places: Places) -> list[Json] | None:
    """That hold otherwise, what moved most first; None: nobody knows who held what."""
    if old.held is None or new.held is None:
        return None
    before, after = Counter[_Key](), Counter[_Key]()
    examples: dict[_Key, Held] = {}
    for held in old.held:
        key = _key_of_old(held, places)
        before[key] += held.bytes
        examples[key] = held
    for held in new.held:
        key = (held.component, held.in_backward, held.line, held.script, True)
        after[key] += held.bytes
        examples[key] = held
    _lay_together(before, after, examples, places)
    lines = [
        {
            "component": held.component,
            "in_backward": held.in_backward,
            "line": held.line,
            "script": held.script,
            "text": held.line_text,
            "old": before[key],
            "new": after[key],
        }
        for key, held in examples.items()
        if before[key] != after[key]
    ]
    return sorted(lines, key=lambda line: -abs(line["new"] - line["old"]))


def _lay_together(
    before: Counter[_Key], after: Counter[_Key], examples: dict[_Key, Held], places: Places
) -> None:
    """A line that another line of the script leads to now, as one that calls a trainer, is one line
    still: what it held by a way that is gone goes to the way that is new."""
    gone: dict[tuple[str, bool, str], list[_Key]] = {}
    new: dict[tuple[str, bool, str], list[_Key]] = {}
    for key, held in examples.items():
        if held.line == held.script:
            continue
        if not after[key]:
            line = places.in_new(held.line) or held.line
            gone.setdefault((held.component, held.in_backward, line), []).append(key)
        elif not before[key]:
            new.setdefault((held.component, held.in_backward, held.line), []).append(key)
    for place in gone.keys() & new.keys():
        to = max(new[place], key=lambda key: after[key])
        for key in gone[place]:
            before[to] += before.pop(key)


def _key_of_old(held: Held, places: Places) -> _Key:
    line, script = places.in_new(held.line), places.in_new(held.script)
    if line is None or script is None:
        return held.component, held.in_backward, held.line, held.script, False
    return held.component, held.in_backward, line, script, True
