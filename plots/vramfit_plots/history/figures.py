"""What each row took, run by run, a picture for each family."""

from collections.abc import Collection, Iterator, Sequence

import pandas as pd

from vramfit_plots.captions import Caption
from vramfit_plots.figures.picture import Picture
from vramfit_plots.history.changes import (
    FLAGS,
    LEVELS,
    MAX_BATCH,
    OVERHEAD,
    UNATTRIBUTED,
    Step,
)
from vramfit_plots.history.panels import Line, Panel, at_least, draw, plot
from vramfit_plots.history.runs import History, named
from vramfit_plots.units import GB, MIB, mib, number, percent, times

_LINES = {
    "mem_device_used": Line("#D55E00", "^", "-."),
    "mem_reserved": Line("#009E73", "s", "--"),
    "mem_allocated": Line("#0072B2", "o"),
}
_EACH = Line("#999999", ".")
_MIDDLE = Line("#0072B2", "o")
_BY_CARD = (
    Line("#0072B2", "o"),
    Line("#E69F00", "s", "--"),
    Line("#009E73", "^", "-."),
    Line("#CC79A7", "D", ":"),
    Line("#56B4E9", "v"),
    Line("#D55E00", "x", "--"),
)
_LEAST_GB, _LEAST_MIB, _LEAST_BATCHES, _LEAST_PERCENT = 0.5, 16, 4, 4
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
    history: History, steps: list[Step], rows: Sequence[str], counters: Collection[str], what: str
) -> str:
    """How many of the rows moved, and which the most."""
    of_rows = (change for step in steps for change in step.changes if change.row in set(rows))
    changes = [change for change in of_rows if change.counter in {*counters, *FLAGS}]
    if not steps:
        return f"{what}: {_count(rows)} in {_runs(history)}"
    if not changes:
        return f"{what}: none of {number(len(rows))} rows moved in {_runs(history)}"
    moved = {change.row for change in changes}
    most = max(changes, key=lambda change: (change.is_lost, abs(change.new - change.old)))
    how = f"the most, {most.figure} of {_short(most.row)}, by {most.difference}"
    if most.counter in FLAGS:
        how = f"{_short(most.row)} {most.difference}"
    return (
        f"{what}: {number(len(moved))} of {number(len(rows))} rows moved in {_runs(history)}; {how}"
    )


def _picture(key: str, title: str, note: str, history: History, **what) -> Picture:
    first, last = history.runs[0], history.runs[-1]
    marks = "; ".join(f"{mark.letter}: {mark.text}" for mark in history.marks)
    return Picture(
        key=f"history_{key}",
        title=title,
        alt=f"{_runs(history)}, {named(first)} to {named(last)}" + (f". {marks}" if marks else ""),
        caption=Caption(
            f"{note} Below stand the runs of data/runs, one card's after another's, each by date; "
            "dotted, with a letter: what changed around them.",
            "make measure",
        ),
        figure=draw(history, title, **what),
        signature=f"vramfit {named(last)}, measured on {' and '.join(history.cards)}",
    )


def _levels(
    history: History, steps: list[Step], key: str, families: Collection[str], what: str
) -> Iterator[Picture]:
    rows = history.rows(families, "mem_allocated")

    def panel(row: str) -> Panel:
        def on(axes) -> None:
            for counter, line in _LINES.items():
                plot(axes, history, history.series(row, counter) / GB, line)
            at_least(axes, _LEAST_GB, 1)

        return Panel(_short(row), on)

    if rows:
        yield _picture(
            key,
            _finding(history, steps, rows, LEVELS, what),
            "Peaks over all steps, each row on its own scale.",
            history,
            unit="GB (1e9 bytes)",
            panels=[panel(row) for row in rows],
            lines={LEVELS[counter]: line for counter, line in _LINES.items()},
        )


def _unattributed(history: History) -> Iterator[Picture]:
    """What no part of the profile explains."""
    families = ("Training", "MultiGpu", "Inference", "KvCache", "OomCliff")
    by_family = {family: history.rows([family], UNATTRIBUTED) for family in families}
    by_family = {family: rows for family, rows in by_family.items() if rows}
    if not by_family:
        return
    every = [history.series(row, UNATTRIBUTED) for rows in by_family.values() for row in rows]
    lowest, highest = min(s.min() for s in every), max(s.max() for s in every)
    span = mib(highest) if lowest == highest else f"from {mib(lowest)} to {mib(highest)}"
    title = f"Unattributed of {number(len(every))} rows in {_runs(history)}: {span}"

    def panel(family: str, rows: list[str]) -> Panel:
        def on(axes) -> None:
            for row in rows:
                plot(axes, history, history.series(row, UNATTRIBUTED) / MIB, _EACH)
            at_least(axes, _LEAST_MIB, 0)

        return Panel(f"{family}, {_count(rows)}", on)

    yield _picture(
        "unattributed",
        title,
        "What the card lost beyond what is reserved and the profile's context and libraries.",
        history,
        unit="MiB",
        panels=[panel(family, rows) for family, rows in by_family.items()],
        lines={"each row": _EACH},
    )


def _parted(row: str) -> tuple[str, str]:
    """What is trained, and the card."""
    start, _, card = row.rpartition("/gpu:")
    return start or row, card


def _batches(history: History, steps: list[Step]) -> Iterator[Picture]:
    rows = history.rows(["OomCliff"], MAX_BATCH)
    cards = dict.fromkeys(card for _, card in map(_parted, rows))
    lines = {card: _BY_CARD[i % len(_BY_CARD)] for i, card in enumerate(cards)}

    def panel(start: str) -> Panel:
        def on(axes) -> None:
            for row in rows:
                what, card = _parted(row)
                if what == start:
                    plot(axes, history, history.series(row, MAX_BATCH), lines[card])
            at_least(axes, _LEAST_BATCHES, 0)

        return Panel(_short(start), on)

    if rows:
        yield _picture(
            "oom_cliff",
            _finding(history, steps, rows, [MAX_BATCH], "Largest batches"),
            "The largest batch that trains within a card's memory.",
            history,
            unit="sequences",
            panels=[
                panel(start) for start in dict.fromkeys(what for what, _ in map(_parted, rows))
            ],
            lines=lines,
        )


def _overhead(history: History, steps: list[Step]) -> Iterator[Picture]:
    rows = history.rows(["Overhead"], OVERHEAD)

    def panel(row: str) -> Panel:
        def on(axes) -> None:
            plot(axes, history, history.series(row, OVERHEAD) / MIB, _MIDDLE)
            at_least(axes, _LEAST_MIB, 0)

        return Panel(row.partition("/")[2].replace("_", " "), on)

    if rows:
        yield _picture(
            "overhead",
            _finding(history, steps, rows, [OVERHEAD], "Driver and libraries"),
            "What driver and libraries take before anything runs, median of several processes.",
            history,
            unit="MiB",
            panels=[panel(row) for row in rows],
            lines={"median": _MIDDLE},
        )


def _relative(history: History, row: str, counter: str) -> pd.Series:
    """Percent above the card's first."""
    series = history.series(row, counter)
    parts = [series.loc[history.of_card(card)] for card in history.cards]
    firsts = [part.dropna().iloc[0] if part.notna().any() else float("nan") for part in parts]
    return (
        100
        * pd.concat(
            [part / first - 1 for part, first in zip(parts, firsts, strict=True)]
        ).sort_index()
    )


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

    def panel(title: str, every: list[pd.Series]) -> Panel:
        def on(axes) -> None:
            for series in every:
                plot(axes, history, series, _EACH, linewidth=0.7)
            plot(axes, history, pd.concat(every, axis=1).median(axis=1), _MIDDLE)
            at_least(axes, _LEAST_PERCENT, 0)

        return Panel(title, on)

    newest = pd.Series([series.iloc[-1] for every in found.values() for series in every]).dropna()
    title = f"Tokens a second in {_runs(history)}"
    if len(newest):
        farthest = float(newest.iloc[newest.abs().argmax()])
        title = (
            f"Tokens a second in the newest of {_runs(history)}: median "
            f"{percent(newest.median() / 100)}, farthest {percent(farthest / 100)} from the card's "
            "first"
        )
    yield _picture(
        "speed",
        title,
        "Each row beside the card's first run that has it; no two runs are equally fast.",
        history,
        unit="% above the first",
        panels=[panel(title, every) for title, every in found.items()],
        lines={"each row": _EACH, "median": _MIDDLE},
    )


def pictures(history: History, steps: list[Step]) -> Iterator[Picture]:
    yield from _levels(history, steps, "training", ["Training", "MultiGpu"], "Training")
    yield from _levels(history, steps, "inference", ["Inference", "KvCache"], "Inference")
    yield from _batches(history, steps)
    yield from _overhead(history, steps)
    yield from _unattributed(history)
    yield from _speeds(history)
