"""What each row took, run by run, a picture for each family."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pandas as pd

from vramfit_plots import words
from vramfit_plots.figures.picture import Picture
from vramfit_plots.history.changes import (
    FLAGS,
    LEVELS,
    MAX_BATCH,
    OVERHEAD,
    UNATTRIBUTED,
    Transition,
)
from vramfit_plots.history.panels import Line, Panel, draw
from vramfit_plots.history.runs import History, named
from vramfit_plots.units import GB, MIB, mib, number, percent, times

_LINES = {
    "mem_device_used": Line("#D55E00", "^", "-."),
    "mem_reserved": Line("#009E73", "s", "--"),
    "mem_allocated": Line("#0072B2", "o"),
}
_EACH = Line("#999999", ".")
_THIN = Line("#999999", ".", width=0.7)
_MIDDLE = Line("#0072B2", "o")
# A card has a colour, what is beside it in a row's name (checkpointing) a stroke.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_STROKES = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"))
_SPEEDS = ("tokens_per_second", "prefill_tokens_per_second", "decode_tokens_per_second")


def _short(row: str) -> str:
    """Without its family, and its size as "4 x 512", which no line break parts."""
    parts = row.split("/")[1:]
    keyed = dict(part.split(":", 1) for part in parts if ":" in part)
    words = [part for part in parts if ":" not in part]
    if {"batch", "seq"} <= keyed.keys():
        words.append(times(keyed.pop("batch"), keyed.pop("seq")).replace(" ", "\N{NO-BREAK SPACE}"))
    return " ".join([*words, *(f"{key}:{value}" for key, value in keyed.items())])


def _runs(history: History) -> str:
    return f"{number(len(history))} runs" if len(history) > 1 else "one run"


def _count(rows: Sequence[object]) -> str:
    return f"{number(len(rows))} row{'s' if len(rows) != 1 else ''}"


def _finding(
    history: History, transitions: list[Transition], rows: list[str], counters: Collection[str]
) -> str:
    """How many of the rows moved, and which the most."""
    every = (change for one in transitions for change in one.changes if change.row in set(rows))
    changes = [change for change in every if change.counter in {*counters, *FLAGS}]
    if not transitions:
        return f"{_count(rows)} in {_runs(history)}"
    if not changes:
        return f"none of {number(len(rows))} rows moved in {_runs(history)}"
    moved = {change.row for change in changes}
    most = max(changes, key=lambda change: (change.is_lost, abs(change.new - change.old)))
    how = f"the most, {most.figure} of {_short(most.row)}, by {most.difference}"
    if most.counter in FLAGS:
        how = f"{_short(most.row)} {most.difference}"
    return f"{number(len(moved))} of {number(len(rows))} rows moved in {_runs(history)}; {how}"


def _picture(
    history: History, name: str, title: str, panels: Sequence[Panel], **how: Any
) -> Picture:
    first, last = history.runs[0], history.runs[-1]
    marks = "; ".join(f"{mark.letter}: {mark.text}" for mark in history.marks)
    return Picture(
        key=f"history_{name}",
        title=title,
        alt=f"{_runs(history)}, {named(first)} to {named(last)}" + (f". {marks}" if marks else ""),
        note=words.note(f"history_{name}", "picture"),
        figure=draw(history, title, panels, **how),
        signature=f"vramfit {named(last)}, measured on {' and '.join(history.cards)}",
    )


def _levels(history: History, rows: list[str]) -> tuple[list[Panel], dict[str, Any]]:
    panels = [
        Panel(_short(row), [(history.series(row, c) / GB, line) for c, line in _LINES.items()])
        for row in rows
    ]
    lines = {LEVELS[counter]: line for counter, line in _LINES.items()}
    return panels, {"unit": "GB (1e9 bytes)", "least": 0.5, "decimals": 1, "lines": lines}


def _parted(row: str) -> tuple[str, str]:
    """What is trained, and the card."""
    start, _, card = row.rpartition("/gpu:")
    return start or row, card


def _card_and_way(card: str) -> tuple[str, str]:
    """ "rtx4090/checkpoint:full" is a card and how it is filled."""
    name, _, way = card.partition("/")
    return name, way


def _batches(history: History, rows: list[str]) -> tuple[list[Panel], dict[str, Any]]:
    cards = dict.fromkeys(card for _, card in map(_parted, rows))
    names, ways = (
        list(dict.fromkeys(part)) for part in zip(*map(_card_and_way, cards), strict=True)
    )
    lines = {}
    for card in cards:
        name, way = _card_and_way(card)
        stroke, marker = _STROKES[ways.index(way) % len(_STROKES)]
        lines[card] = Line(_COLORS[names.index(name) % len(_COLORS)], marker, stroke)
    found: dict[str, list[tuple[pd.Series, Line]]] = {}
    for row in rows:
        start, card = _parted(row)
        found.setdefault(start, []).append((history.series(row, MAX_BATCH), lines[card]))
    panels = [Panel(_short(start), own) for start, own in found.items()]
    return panels, {"unit": "sequences", "least": 4, "lines": lines}


def _overhead(history: History, rows: list[str]) -> tuple[list[Panel], dict[str, Any]]:
    panels = [
        Panel(row.partition("/")[2].replace("_", " "), [(series / MIB, _MIDDLE)])
        for row, series in ((row, history.series(row, OVERHEAD)) for row in rows)
    ]
    return panels, {"unit": "MiB", "least": 16, "lines": {"median": _MIDDLE}}


# Pictures of rows that moved or did not: of which families, by which counters, what is drawn.
MOVING = (
    ("training", "Training", ("Training", "MultiGpu"), tuple(LEVELS), _levels),
    ("inference", "Inference", ("Inference", "KvCache"), tuple(LEVELS), _levels),
    ("oom_cliff", "Largest batches", ("OomCliff",), (MAX_BATCH,), _batches),
    ("overhead", "Driver and libraries", ("Overhead",), (OVERHEAD,), _overhead),
)


def _unattributed(history: History) -> Iterator[Picture]:
    """What no part of the profile explains."""
    found: dict[str, list[pd.Series]] = {}
    for family in ("Training", "MultiGpu", "Inference", "KvCache", "OomCliff"):
        if rows := history.rows([family], UNATTRIBUTED):
            series = [history.series(row, UNATTRIBUTED) for row in rows]
            found[f"{family}, {_count(rows)}"] = series
    if not found:
        return
    every = [series for own in found.values() for series in own]
    lowest, highest = min(s.min() for s in every), max(s.max() for s in every)
    span = mib(highest) if lowest == highest else f"from {mib(lowest)} to {mib(highest)}"
    title = f"Unattributed of {number(len(every))} rows in {_runs(history)}: {span}"
    panels = [Panel(name, [(series / MIB, _EACH) for series in own]) for name, own in found.items()]
    how = {"unit": "MiB", "least": 16, "lines": {"each row": _EACH}}
    yield _picture(history, "unattributed", title, panels, **how)


def _relative(history: History, row: str, counter: str) -> pd.Series:
    """Percent above the card's first."""
    series = history.series(row, counter)
    parts = [series.loc[history.of_card(card)] for card in history.cards]
    firsts = [part.dropna().iloc[0] if part.notna().any() else float("nan") for part in parts]
    above = [part / first - 1 for part, first in zip(parts, firsts, strict=True)]
    return 100 * pd.concat(above).sort_index()


def _speeds(history: History) -> Iterator[Picture]:
    found: dict[str, list[pd.Series]] = {}
    for family in ("Training", "MultiGpu", "Inference", "KvCache", "Ops"):
        for counter in _SPEEDS:
            series = [_relative(history, row, counter) for row in history.rows([family], counter)]
            if series:
                what = counter.removesuffix("tokens_per_second").strip("_") or "steps"
                found[f"{family}, {what} of {_count(series)}"] = series
    if not found or len(history) == 1:
        return
    newest = pd.Series([series.iloc[-1] for every in found.values() for series in every]).dropna()
    title = f"Tokens a second in {_runs(history)}"
    if len(newest):
        farthest = float(newest.iloc[newest.abs().argmax()])
        title = (
            f"Tokens a second in the newest of {_runs(history)}: median "
            f"{percent(newest.median() / 100)}, farthest {percent(farthest / 100)} from the card's "
            "first"
        )
    panels = [
        Panel(
            heading,
            [*((one, _THIN) for one in every), (pd.concat(every, axis=1).median(axis=1), _MIDDLE)],
        )
        for heading, every in found.items()
    ]
    lines = {"each row": _EACH, "median": _MIDDLE}
    how = {"unit": "% above the first", "least": 4, "lines": lines}
    yield _picture(history, "speed", title, panels, **how)


def pictures(history: History, transitions: list[Transition]) -> Iterator[Picture]:
    for name, what, families, counters, lay_out in MOVING:
        if rows := history.rows(families, counters[0]):
            title = f"{what}: {_finding(history, transitions, rows, counters)}"
            panels, how = lay_out(history, rows)
            yield _picture(history, name, title, panels, **how)
    yield from _unattributed(history)
    yield from _speeds(history)
