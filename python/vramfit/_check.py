"""`vramfit check config.yaml --gpu h100-80gb`: a gate before a job is submitted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from vramfit import _core
from vramfit._adapters import ARGUMENTS
from vramfit._bad_input import bad_input
from vramfit._keywords import written
from vramfit._picture import gigabytes, sentence
from vramfit._questions import asked_with
from vramfit._reading import Reading
from vramfit._settle import settle
from vramfit._yaml import load, read_accelerate, read_axolotl

if TYPE_CHECKING:
    from vramfit._answer import Answer

USAGE = """Usage: vramfit check FILE.yaml [FILE.yaml ...] [FLAGS]

Says in one line whether the run of the files fits, before it is submitted.
FILE: axolotl's config, Accelerate's, or flags as keys and values, those of transformers'
scripts among them. FLAGS: as vramfit takes them (vramfit --help), before a file's.
Exit status: 0 it fits, 1 it does not (with --strict: not beyond doubt), 2 bad input, 4 a file
asks for what is not predicted and takes less (Liger's kernels, say), and without it the run would
not fit: vramfit run tells.

  vramfit check config.yaml --gpu h100-80gb
  vramfit check accelerate.yaml train.yaml --gpu a100-40gb --strict
"""
FITS, DOES_NOT_FIT, BAD_INPUT, MAY_FIT = 0, 1, 2, 4


#: Flags of `vramfit` that say what to print, or ask for something else.
_OTHER_OUTPUT = ("json", "advise", "formulas", "verbose", "snapshot", "trace", "verify", "list")


def _typed(arguments: list[str]) -> set[str]:
    """The names of the flags on a command line."""
    names = {
        text[2:].partition("=")[0].replace("-", "_") for text in arguments if text.startswith("--")
    }
    for name in _OTHER_OUTPUT:
        if name in names:
            raise bad_input(f"{name}: check says one line; vramfit --{name}")
    return names


def _read(path: str, reading: Reading, flags: dict[str, Any]) -> None:
    """Flags that a file holds by name are its writer's own words, as a command line's are."""
    values = load(path, "check")
    if "base_model" in values:
        read_axolotl(values, reading)
    elif "distributed_type" in values or "compute_environment" in values:
        read_accelerate(values, reading)
    else:
        reading.name_set(lambda name: values.get(name) or None, ARGUMENTS)  # YAML's no is False
        own = {name: value for name, value in values.items() if name not in ARGUMENTS}
        flags.update({name: value for name, value in own.items() if value is not None})


def check(arguments: list[str]) -> int:
    """The command; returns its exit status."""
    if not arguments or {"-h", "--help"} & {*arguments}:
        print(USAGE, end="")
        return FITS if arguments else BAD_INPUT
    first = next((at for at, text in enumerate(arguments) if text.startswith("-")), len(arguments))
    files, more = arguments[:first], arguments[first:]
    try:
        if not files:
            raise bad_input("check: no file; vramfit check --help")
        reading = Reading()
        flags: dict[str, Any] = {}
        for path in files:
            _read(path, reading, flags)
        names = {*flags, *_typed(more)}
        settle(reading, names, lambda own: _core.own_flags(written({**own, **flags}), more))
        answer = asked_with({**reading.flags, **flags}, more, tuple(reading.not_honoured))
    except _core.BadInput as error:
        print(f"vramfit check: error: {error}", file=sys.stderr)
        return BAD_INPUT
    for line in answer.not_honoured:
        print(f"not honoured: {line}", file=sys.stderr)
    return _say(answer, reading.is_the_most)


def _say(answer: Answer, at_most: bool) -> int:
    """In one line; returns the exit status. `at_most`: the run takes no more than is predicted."""
    cards = answer.cards
    parameters = min(card.components["parameters"] for card in cards)
    can_fit = any(parameters <= card.vram for card in cards)
    status = FITS if answer._fits else MAY_FIT if at_most and can_fit else DOES_NOT_FIT
    verdict = "MAY FIT" if status == MAY_FIT else answer.to_dict()["verdict"]
    where = f"on {sum(card.fits for card in cards)} of {len(cards)} cards; --gpu names one"
    several = len(cards) > 1
    if at_most:
        most = f"it takes at most {gigabytes(max(card.total for card in cards))}"
        takes = most if can_fit else f"its parameters alone take {gigabytes(parameters)}"
        one = f"; {cards[0].title} has {gigabytes(cards[0].vram)}"
        line = f"{verdict}: {takes}{f', which fits {where}' if several else one}"
    elif several:
        line = f"{verdict}: {where}"
    else:
        line = sentence(cards[0])
    print(line + ("; vramfit run -- SCRIPT … tells what it takes" if status == MAY_FIT else ""))
    return status
