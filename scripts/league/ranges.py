"""What driver, context and libraries take of other cards than the H200, as ranges of what people's
messages tell: data/overheads.json, of which verdicts take what another card's overhead may be off
by.

A message of PyTorch's that there is no memory tells CUDA's total of the card, what the process has
in use and what PyTorch's allocator holds of that: the rest is context and libraries ("beside"). A
card that two reports or more tell of has a range of its own; the others have that of all cards,
beside by multiprocessor, since a context grows with them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from programs import ROOT, read_jsonl
from vramfit_plots.catalogues import Card
from vramfit_plots.tables import Table

from league.overheads import cases, kept_by_drivers

_TOTALS = ROOT / "data" / "league" / "totals.jsonl"
_MEASURED = "h200"
_AGREE = 2  # reports that make a range of a card's own
# A process that takes more than so many times what the card's least does takes it by itself: other
# libraries' allocations, NCCL, vLLM's.
_OWN = 2


@dataclass(frozen=True)
class Report:
    """Of one process: what it took of a card beside PyTorch's allocator. Bytes."""

    card: str
    source: str
    low: int
    high: int


@dataclass(frozen=True)
class Span:
    least: int
    most: int
    reports: int


def _messages() -> Iterator[Report]:
    for line in read_jsonl(_TOTALS):
        if "used" in line:
            beside = line["used"] - line["allocated"] - line["unallocated"]
            # Of used and allocated, each; what is unallocated is told in MiB, where it is small.
            off = 2 * line["rounding"]
            yield Report(line["card"], line["source"], beside - off, beside + off)


def _of_cases() -> Iterator[Report]:
    """All that one sender's runs of a card took is one report, of its end."""
    by_sender: dict[tuple[str, str], list[int]] = {}
    for case in cases():
        if card := case["question"].get("gpu"):
            by_sender.setdefault((card, case["from"]), []).append(case["beside"][1])
    for (card, sender), after in by_sender.items():
        yield Report(card, sender, min(after), max(after))


def reports() -> list[Report]:
    return [*_messages(), *_of_cases()]


def set_aside(found: Iterable[Report]) -> tuple[list[Report], list[Report]]:
    """Those of context and libraries alone, and those in which is more."""
    found = list(found)
    least: dict[str, int] = {}
    for report in found:
        least[report.card] = min(report.high, least.get(report.card, report.high))
    alone = [report for report in found if report.low <= _OWN * least[report.card]]
    return alone, [report for report in found if report not in alone]


def _span(values: Iterable[tuple[int, int]], count: int) -> Span:
    lows, highs = zip(*values, strict=True)
    return Span(min(lows), max(highs), count)


def _measured(cards: Mapping[str, Any]) -> tuple[int, int]:
    """Of the H200 in a process of PyTorch's: its context, and with all that one GPU's training
    loads."""
    rows = cards[_MEASURED]["overhead"]["runtimes"]
    parts = next(row["parts"] for row in rows if row["runtime"] == "pytorch")
    libraries = ("cublas", "cublas_backward", "attention", "attention_backward")
    context = parts["context"]["bytes"]
    return context, context + sum(parts[name]["bytes"] for name in libraries)


def _spelt(span: Span) -> dict[str, int]:
    return {"least": span.least, "most": span.most, "reports": span.reports}


def document(catalogue: Iterable[Mapping[str, Any]], cards: Mapping[str, Card]) -> dict[str, Any]:
    """data/overheads.json. `catalogue`: data/gpus.json's rows; `cards`: the same, as tables have
    them."""
    rows = {row["name"]: row for row in catalogue}
    least, most = _measured(rows)
    drivers = {
        kept.card: Span(kept.low, kept.high, kept.listings) for kept in kept_by_drivers(cards)
    }
    alone, _ = set_aside(reports())
    beside = {
        card: _span([(r.low, r.high) for r in alone if r.card == card], _count(alone, card))
        for card in {report.card for report in alone}
    }
    every = {**beside, _MEASURED: Span(least, most, 1)}

    def by_multiprocessor(edge: Callable[[Span], int], card: str) -> float:
        return edge(every[card]) / rows[card]["multiprocessors"]["value"]

    own = [
        {
            "name": card,
            **{
                key: _spelt(spans[card])
                for key, spans in (("driver_reserved", drivers), ("beside", beside))
                if card in spans and spans[card].reports >= _AGREE
            },
        }
        for card in sorted(drivers.keys() | beside.keys())
    ]
    return {
        "schema": 1,
        "source": "data/league/totals.jsonl and cases.jsonl: what messages that people posted tell "
        "of their cards; scripts/league/ranges.py",
        "measured": {"card": _MEASURED, "least": least, "most": most},
        "any": {
            "driver_reserved": {
                "least": min(span.least for span in drivers.values()),
                "most": max(span.most for span in drivers.values()),
            },
            "beside": {
                "least": min(span.least for span in every.values()),
                "most": max(span.most for span in every.values()),
            },
            "beside_a_multiprocessor": {
                "least": int(min(by_multiprocessor(lambda s: s.least, card) for card in every)),
                "most": int(max(by_multiprocessor(lambda s: s.most, card) for card in every)) + 1,
            },
        },
        "cards": [row for row in own if len(row) > 1],
    }


def _count(found: Iterable[Report], card: str) -> int:
    return sum(report.card == card for report in found)


def spelt(told: Mapping[str, Any]) -> str:
    """A line a card."""
    cards = ",\n".join("    " + json.dumps(card) for card in told["cards"])
    head = ",\n".join(
        f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in told.items() if key != "cards"
    )
    return f'{{\n{head},\n  "cards": [\n{cards}\n  ]\n}}\n'


def table(cards: Mapping[str, Card], catalogue: Iterable[Mapping[str, Any]]) -> Table:
    """Of each card that anybody tells of, and what is set aside."""
    rows = {row["name"]: row for row in catalogue}
    alone, more = set_aside(reports())
    measured = _measured(rows)
    processors = rows[_MEASURED]["multiprocessors"]["value"]
    each = " to ".join(f"{edge / processors / 1e6:.1f}" for edge in measured)
    whole = " to ".join(f"{edge / 1e6:.0f}" for edge in measured)
    listed = sorted(alone, key=lambda report: rows[report.card]["multiprocessors"]["value"])

    def told(report: Report, why: str) -> list[str]:
        count = rows[report.card]["multiprocessors"]["value"]
        middle = (report.low + report.high) / 2
        span = [f"{edge / 1e6:.0f}" for edge in (report.low, report.high)]
        return [
            cards[report.card].title,
            str(count),
            " to ".join(dict.fromkeys(span)),
            f"{middle / count / 1e6:.1f}",
            why + report.source,
        ]

    return Table(
        key="league_contexts",
        title="What contexts and libraries take of a card",
        headings=["card", "multiprocessors", "MB", "MB a multiprocessor", "told by"],
        rows=[
            *(told(report, "") for report in listed),
            *(told(report, "set aside: ") for report in more),
        ],
        note="What a process of PyTorch's had in use less what its allocator held, with the "
        f"roundings. The H200 has {whole} MB, {each} a multiprocessor. Set aside: more than "
        "twice what the card's least takes, of which the program itself took a part.",
        command="make league",
        text_columns=frozenset({4}),
    )
