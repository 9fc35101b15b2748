"""Rivals beside each other, each on all reference cases that it answers, and vramfit on them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from programs import ROOT, read_json
from vramfit_plots.accuracy import rivals as published
from vramfit_plots.accuracy.comparison import Accuracy, compare
from vramfit_plots.catalogues import Card, load_cards
from vramfit_plots.tables import Table
from vramfit_plots.units import MISSING, number, percent

from league.rivals import engines
from league.rivals.formulas import RULES, Said
from league.rivals.programs_run import keyed

KEPT = ROOT / "data" / "league" / "rivals.json"
_SMALL_CARDS = ("rtx4060", "rtx3060-12gb", "rtx4070ti-super", "rtx4090")  # of 8 to 24 GB
_OF_FORMULAS = ("article", "korthikanti")  # the rest of them is run, or has its largest layer


@dataclass(frozen=True)
class Line:
    rival: str
    of: str
    errors: Sequence[float]
    wrong: int | None
    verdicts: int
    ours: Sequence[float]
    ours_wrong: int | None
    seconds: float | None = None


def kept() -> dict[str, Any]:
    return read_json(KEPT)


def _line(rival: str, of: str, x: Accuracy, said: Mapping[int, Said]) -> Line:
    theirs = published.score(
        x,
        {i: value.tensors for i, value in said.items()},
        {i: value.total for i, value in said.items()},
    )
    own = published.ours(x, list(said))
    verdicts = theirs.cases * len(published.CARDS)
    errors, ours = list(theirs.errors), list(own.errors)
    return Line(rival, of, errors, theirs.all_wrong, verdicts, ours, own.all_wrong)


def _published(x: Accuracy) -> Iterator[Line]:
    for rival in published.rivals(x):
        if rival.formula.key in _OF_FORMULAS:
            said = {i: Said(value, value) for i, value in rival.said.items()}
            yield _line(rival.formula.key, "PyTorch", x, said)


def _ruled(x: Accuracy, of: str) -> Iterator[Line]:
    for rule in RULES:
        chosen = [i for i in published.with_peak(x) if rule.speaks_of(x.cases[i])]
        if chosen:
            said = {i: rule.say(x.cases[i], x.predictions[i].parameters) for i in chosen}
            yield _line(rule.key, of, x, said)


def _two(value: float | Sequence[float]) -> Said:
    """Tensors, and all of a card; where a rival says one figure, it is both."""
    return Said(*value) if isinstance(value, list) else Said(value, value)


def _kept(x: Accuracy) -> Iterator[Line]:
    numbers = keyed(x)
    for key, told in kept()["said"].items():
        if not told["said"]:
            continue  # our own, of which the time alone is kept
        said = {numbers[name]: _two(value) for name, value in told["said"].items()}
        line = _line(key, "PyTorch", x, said)
        yield Line(**{**vars(line), "seconds": told["seconds"]})


def _of_engine(
    of: str,
    runs: Sequence[engines.Run],
    ask: Callable[[Mapping[str, Any]], int],
    cards: Mapping[str, Card] | None,
) -> Iterator[Line]:
    """`cards`: where verdicts are asked."""
    mine = {run.key: ask(run.question) for run in runs}

    def wrong(run: engines.Run, said: int) -> int:
        taken = run.measured + cards["h200"].driver_reserved
        return sum((said <= cards[c].vram) != (taken <= cards[c].vram) for c in _SMALL_CARDS)

    for key in dict.fromkeys(key for run in runs for key in run.said):
        spoken = [run for run in runs if run.said.get(key) is not None]
        yield Line(
            rival=key,
            of=of,
            errors=[run.said[key] / run.measured - 1 for run in spoken],
            wrong=sum(wrong(r, r.wanted.get(key, r.said[key])) for r in spoken) if cards else None,
            verdicts=len(spoken) * len(_SMALL_CARDS) if cards else 0,
            ours=[mine[run.key] / run.measured - 1 for run in spoken],
            ours_wrong=sum(
                wrong(run, mine[run.key] + cards["h200"].driver_reserved) for run in spoken
            )
            if cards
            else None,
        )


def lines(
    ask: Callable[[Mapping[str, Any]], int], fit: Path = ROOT / "build" / "fit"
) -> list[Line]:
    """`ask`: what vramfit says that a card loses, of a question."""
    data = ROOT / "data"
    one, several = (compare(fit, data, several_gpus=many) for many in (False, True))
    cards = load_cards(data / "gpus.json")
    return [
        *_published(one),
        *_kept(one),
        *_ruled(one, "PyTorch"),
        *_ruled(several, "FSDP2, 2 to 4 GPUs"),
        *_of_engine("llama.cpp", list(engines.llamacpp()), ask, cards),
        *_of_engine("vLLM", list(engines.vllm()), ask, None),
    ]


def _errors(found: Sequence[float]) -> tuple[str, str]:
    middle = median(abs(error) for error in found)
    worst = max(found, key=abs)
    return (
        percent(middle, 2, signed=False),
        percent(worst, 0 if abs(worst) >= 2 else 2),
    )


def _wrong(count: int | None, of: int) -> str:
    return MISSING if count is None else f"{number(count)} of {number(of)}"


def build(found: Sequence[Line]) -> Table:
    told = {rival["key"]: rival for rival in kept()["rivals"]}
    rows = []
    for line in found:
        rival = told[line.rival]
        median_error, worst = _errors(line.errors)
        ours, ours_worst = _errors(line.ours)
        rows.append(
            [
                f"{rival['name']}\n{rival['version']}",
                line.of,
                str(len(line.errors)),
                median_error,
                worst,
                _wrong(line.wrong, line.verdicts),
                ours,
                ours_worst,
                _wrong(line.ours_wrong, line.verdicts),
            ]
        )
    return Table(
        key="league_rivals",
        title="Others' estimates on the reference cases",
        headings=[
            "by",
            "of",
            "cases",
            "median error",
            "worst",
            "wrong verdicts",
            "vramfit's median",
            "its worst",
            "its wrong verdicts",
        ],
        rows=rows,
        note="Each on all cases that it speaks of, and vramfit on the same. Of PyTorch the error "
        "is that of the peak allocated, and verdicts are on cards of 24, 40, 48 and 80 GB; of "
        "llama.cpp and vLLM that of what the card lost, and verdicts on cards of 8 to 24 GB.",
        command="make league-rivals",
        text_columns=frozenset({1}),
    )


def described() -> Table:
    """What each needs, and where its words are."""
    said = kept()["said"]

    def time(key: str) -> str:
        seconds = said.get(key, {}).get("seconds")
        if seconds is None:
            return MISSING
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "< 1 ms"

    def needs(rival: Mapping[str, Any]) -> str:
        wanted = [word for word in ("card", "weights", "code") if rival[word]]
        return ", ".join(wanted) or "neither card, weights nor code"

    return Table(
        key="league_rivals_described",
        title="Whose they are",
        headings=["", "version", "run, or its formula", "needs", "time a case", "source"],
        rows=[
            [r["name"], r["version"], r["how"], needs(r), time(r["key"]), r["source"]]
            for r in kept()["rivals"]
        ],
        note="Formulas take no time; vramfit's is a process a case, two at a time. Weights: their "
        "file, or its header.",
        text_columns=frozenset(range(1, 6)),
    )


def spelt(document: Mapping[str, Any]) -> str:
    """As data/league/rivals.json is: a line a rival."""
    listed = ",\n".join("    " + json.dumps(r, ensure_ascii=False) for r in document["rivals"])
    said = ",\n".join(
        f"    {json.dumps(key)}: {json.dumps(told)}" for key, told in document["said"].items()
    )
    return f'{{\n  "schema": 1,\n  "rivals": [\n{listed}\n  ],\n  "said": {{\n{said}\n  }}\n}}\n'
