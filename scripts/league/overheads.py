"""What drivers keep of other cards, and what cases lost beside PyTorch's allocator: ranges beside
what is assumed of them, the H200's.

data/league/totals.jsonl has what CUDA calls a card's total, as messages that people posted tell it
("GPU 0 has a total capacity of 23.64 GiB"). nvidia-smi's total less that is what the driver keeps
for itself, whatever runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from programs import ROOT, read_jsonl
from vramfit_plots.catalogues import Card
from vramfit_plots.tables import Table
from vramfit_plots.units import number

_FOLDER = ROOT / "data" / "league"
_MB = 1e6


@dataclass(frozen=True)
class Kept:
    """Of a card, by the driver; bytes, with the roundings of what was told."""

    card: str
    listings: int
    low: int
    high: int


def kept_by_drivers(cards: Mapping[str, Card]) -> list[Kept]:
    by_card: dict[str, list[tuple[int, int]]] = {}
    for line in read_jsonl(_FOLDER / "totals.jsonl"):
        kept = line.get("smi", cards[line["card"]].vram) - line["total"]
        span = (kept - line["rounding"], kept + line["rounding"])
        by_card.setdefault(line["card"], []).append(span)
    totals = {(case["question"].get("gpu"), case["gpu"]["total"]) for case in cases()}
    for card, total in sorted(totals, key=str):
        if card:
            kept = cards[card].vram - total
            by_card.setdefault(card, []).append((kept, kept))
    return [
        Kept(card, len(spans), min(low for low, _ in spans), max(high for _, high in spans))
        for card, spans in by_card.items()
    ]


def _off(card: Card, kept: int) -> str:
    return number((card.driver_reserved - kept) / _MB, signed=True)


def drivers(cards: Mapping[str, Card]) -> Table:
    """Cards from the smallest up."""
    found = sorted(kept_by_drivers(cards), key=lambda kept: cards[kept.card].vram)
    rows = [
        [
            cards[kept.card].title,
            str(kept.listings),
            f"{kept.low / _MB:.0f} to {kept.high / _MB:.0f}",
            f"{cards[kept.card].driver_reserved / _MB:.0f}",
            f"{_off(cards[kept.card], kept.high)} to {_off(cards[kept.card], kept.low)}",
        ]
        for kept in found
    ]
    return Table(
        key="league_drivers",
        title="What drivers keep of a card",
        headings=["card", "told by", "MB", "assumed, MB", "which is off by, MB"],
        rows=rows,
        note="nvidia-smi's total less CUDA's, of many drivers and years, with the roundings of "
        "what was told.",
        command="make league",
    )


def beside_allocator(cases: Iterable[Mapping[str, Any]]) -> Table:
    """What cases lost of the card, before and after, to all but PyTorch's allocator."""
    by_run: dict[tuple[str, str, str], list[list[int]]] = {}
    for case in cases:
        versions = case["versions"]
        run = (case["gpu"]["name"], versions["torch"], versions.get("cuda", ""))
        by_run.setdefault(run, []).append(case["beside"])

    def span(values: Iterable[int]) -> str:
        values = sorted(values)
        ends = [f"{value / _MB:.0f}" for value in (values[0], values[-1])]
        return " to ".join(dict.fromkeys(ends))

    return Table(
        key="league_beside",
        title="What cases lost beside PyTorch's allocator",
        headings=["card", "torch, CUDA", "cases", "before, MB", "after, MB"],
        rows=[
            [
                name,
                f"{torch}, {cuda}",
                str(len(found)),
                span(before for before, _ in found),
                span(after for _, after in found),
            ]
            for (name, torch, cuda), found in by_run.items()
        ],
        note="Context, libraries and kernels, of all processes. The H200's are 552 before and 804 "
        "after two steps of training.",
        command="make league",
        text_columns=frozenset({1}),
    )


def cases() -> list[Mapping[str, Any]]:
    return list(read_jsonl(_FOLDER / "cases.jsonl"))
