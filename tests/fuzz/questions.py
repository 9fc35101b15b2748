"""Random questions to `fit`: what its answers promise, holds.

questions.py [COUNT [FIRST_SEED]]
"""

import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from asked import SEARCHES, Question, question
from campaign import ROOT, Case, Ended, Limits, program, run
from jsonschema_rs import Draft202012Validator

sys.path.insert(0, str(ROOT / "tests"))
import built

_LIMITS = Limits(5)  # where a question is expected to take a twenty-fifth of a second
_EXACT = 1024  # up to here searches are exact, above it within a hundredth
_PRINTED_SHARE = 0.25  # of the questions also have their text read
_BY_LABEL = {
    "allocated": lambda a: a["levels"]["allocated"],
    "reserved": lambda a: a["levels"]["reserved"],
    "+ overhead": lambda a: a["overhead"],
    "= total": lambda a: a["total"],
    "VRAM": lambda a: a["vram"],
}


@cache
def _fit() -> Path:
    return built.program("fit")


@cache
def _schema() -> Draft202012Validator:
    return Draft202012Validator(json.loads((ROOT / "docs/schemas/fit.schema.json").read_text()))


def ask(arguments: list[str]) -> Ended:
    return run([_fit(), *arguments], _LIMITS.seconds)


def verdict(answer: Mapping[str, Any]) -> str:
    """By the margin, what it may be off by, and whether the run completes."""
    uncertainty = answer["uncertainty"]
    if uncertainty and abs(answer["margin"]) <= uncertainty["total"]:
        return "TIGHT"
    return "FITS" if answer["fits"] else "OOM"


def sums(answer: Mapping[str, Any]) -> Iterator[str]:
    """Every figure that is made of others."""
    levels, stages = answer["levels"], answer["stages"]
    parts = answer["overhead_parts"]
    same = {
        "components": (sum(answer["components"].values()), levels["allocated"]),
        "overhead_parts": (sum(parts.values()), answer["overhead"]),
        "total": (levels["reserved"] + answer["overhead"], answer["total"]),
        "device_used": (
            levels["reserved"] + parts["context"] + parts["libraries"] + levels.get("managed", 0),
            levels["device_used"],
        ),
        "margin": (
            answer["vram"] - answer["headroom"] - answer["held_by_others"] - answer["total"],
            answer["margin"],
        ),
        "fits": (answer["margin"] >= 0, answer["fits"]),
        "verdict": (verdict(answer), answer["verdict"]),
        "peak of stages": (max(stage["peak"] for stage in stages), levels["allocated"]),
        "peak_reserved of stages": (
            max(stage["peak_reserved"] for stage in stages),
            levels["reserved"],
        ),
    }
    for name, (found, expected) in same.items():
        if found != expected:
            yield f"{name}: {found} is not {expected}"
    for stage in stages:
        if stage["peak"] < max(stage["before"], stage["after"]):
            yield f"stage {stage['name']} of step {stage['step']}: peak below its ends"
        if stage["peak_reserved"] < stage["reserved"]:
            yield f"stage {stage['name']} of step {stage['step']}: reserved beyond its peak"


def _shows(text: str, value: int) -> bool:
    """Whether a figure in GB is `value`, rounded to the digits it has."""
    if text.startswith("<"):
        return 0 < value / 1e9 < float(text[1:])
    decimals = len(text.partition(".")[2])
    return abs(float(text) - value / 1e9) <= 0.5 * 10**-decimals + 1e-9


def printed(text: str, answer: Mapping[str, Any]) -> Iterator[str]:
    """Every figure of the table, against the JSON's."""
    expected = {label: get(answer) for label, get in _BY_LABEL.items()}
    for name, value in answer["components"].items():
        if value:
            expected[name.replace("_", " ")] = value
    for label, value in expected.items():
        found = re.search(rf"^  {re.escape(label)} +(<?[0-9.]+)", text, re.MULTILINE)
        if found is None:
            yield f"text: no line '{label}'"
        elif not _shows(found[1], value):
            yield f"text: {label} is {found[1]}, in JSON {value}"
    if f"\n{answer['verdict']}: " not in text:
        yield f"text: no line that begins '{answer['verdict']}: '"


def _at(asked: Question, axis: str, size: int) -> Mapping[str, Any]:
    """The answer at that point; nothing where it is refused: no such size can be asked."""
    ended = ask([*asked.arguments(**{axis: size}), "--json"])
    return json.loads(ended.out) if ended.status in (0, 1) else {}


def _verdict(asked: Question, axis: str, size: int) -> str | None:
    return _at(asked, axis, size).get("verdict")


def _fits(asked: Question, axis: str, size: int) -> bool | None:
    return _at(asked, axis, size).get("fits")


def _band(asked: Question, axis: str, answer: Mapping[str, Any]) -> Iterator[str]:
    """Around the largest: what surely fits, and what may; the size after either is not so."""
    surely, possibly = answer["largest_surely"], answer["largest_possibly"]
    if not surely <= answer["largest"] <= possibly:
        yield f"largest {answer['largest']} is not from {surely} to {possibly}"
    if answer["verdict"] == "FITS" and surely != answer["largest"] > 0:
        yield f"largest {answer['largest']} is FITS, and {surely} the largest that surely fits"
    if not answer["uncertainty"]:
        return
    # One that ends at the model's own positions says nothing of what is above.
    above = axis == "batch" or asked.beyond
    if surely > 0 and (found := _verdict(asked, axis, surely)) != "FITS":
        yield f"{axis} {surely} does not surely fit: {found}"
    if (surely < answer["largest"] or above) and _verdict(asked, axis, surely + 1) == "FITS":
        yield f"{axis} {surely + 1} surely fits, too"
    if possibly > 0 and (found := _verdict(asked, axis, possibly)) == "OOM":
        yield f"{axis} {possibly} may not fit: {found}"
    if above and (found := _verdict(asked, axis, possibly + 1)) in ("FITS", "TIGHT"):
        yield f"{axis} {possibly + 1} may fit, too: {found}"


def _said_not_to_fit(random: Random, answer: Mapping[str, Any]) -> list[int]:
    """Sizes above the largest: every one, or those tried in steps, and where these begin."""
    largest, step, first = answer["largest"], answer["search_step"], answer["search_from"]
    if step == 1:
        return [largest + 1, largest + random.randint(1, 8), 2 * largest + 1]
    if first is None:  # it ended early, or tried long generations in full only next to the answer
        return [answer["search_next"]] if answer["search_next"] else []
    tried = range(first, largest, -step)
    return [*random.sample(tried, min(3, len(tried))), first + 1, 2 * first]


def searched(random: Random, asked: Question, answer: Mapping[str, Any]) -> Iterator[str]:
    """The largest fits, what is above it does not, and below it only the holes do not."""
    axis = SEARCHES[asked.search]
    found = answer[f"max_{axis}"]
    largest, holes, step = answer["largest"], answer["holes"], answer["search_step"]
    if largest != found:
        yield f"largest {largest} is not max_{axis} {found}"
    if largest > 0 and _fits(asked, axis, largest) is not True:
        yield f"{axis} {largest} does not fit"
    yield from _band(asked, axis, answer)
    # One that ends at the model's own positions says nothing of what is above.
    if axis == "batch" or asked.beyond:
        further = _said_not_to_fit(random, answer)
        yield from (f"{axis} {size} fits" for size in further if _fits(asked, axis, size) is True)
    if holes and answer["largest_without_holes"] != max(min(holes) - step, 0):
        yield f"largest_without_holes {answer['largest_without_holes']}, first hole {min(holes)}"
    if holes and _fits(asked, axis, random.choice(holes)) is True:
        yield "a hole fits"
    if 1 < largest <= _EXACT and step == 1 and holes is not None:
        below = {largest - 1, random.randint(1, largest)} - {0, *holes}
        yield from (
            f"{axis} {size} does not fit, and is no hole of {largest}"
            for size in below
            if _fits(asked, axis, size) is False
        )


def _promises(random: Random, asked: Question, ended: Ended) -> Iterator[str]:
    try:
        answer = json.loads(ended.out)
    except ValueError as error:
        yield f"not JSON: {error}"
        return
    objections = [error.message[:200] for error in _schema().iter_errors(answer)]
    if objections:
        yield f"schema: {objections[0]}"
        return
    yes = answer["largest_possibly"] > 0 if asked.search else answer["fits"]
    if ended.status != (0 if yes else 1):
        yield f"exit {ended.status}, fits {answer['fits']}"
    yield from sums(answer)
    if random.random() < _PRINTED_SHARE:
        text = ask(asked.arguments())
        if text.status != ended.status:
            yield f"exit {text.status} as text, {ended.status} as JSON"
        yield from printed(text.out.decode(), answer)
    if asked.search:
        yield from searched(random, asked, answer)


def check(random: Random) -> Case:
    asked = question(random)
    arguments = asked.arguments()
    ended = ask([*arguments, "--json"])
    answered = "searches" if asked.search else "points"
    answers = {0: answered, 1: answered, 2: "refused"}
    case = _LIMITS.judge(shlex.join(["fit", *arguments]), ended, answers)
    if case.kind == answered:
        case.broken += _promises(random, asked, ended)
    return case


if __name__ == "__main__":
    sys.exit(program("questions", check))
