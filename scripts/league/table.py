"""Errors as tables: of each publisher, card and kind what was met, and what was not asked."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from vramfit_plots.tables import Table
from vramfit_plots.units import MISSING, percent

from league.rows import KINDS, Row
from league.scores import Score, frame

_WORST = 2  # of which share an error is told without decimals: 200 %


def _percent(error: float | None) -> str:
    if error is None or pd.isna(error):
        return MISSING
    return percent(error, 0 if abs(error) >= _WORST else 2)


def _of(name: tuple[Any, ...], lines: pd.DataFrame) -> list[str]:
    points, bounds, verdicts = (lines[lines.form == form] for form in ("point", "bound", "verdict"))
    errors = points.error.astype(float)
    worst = errors.iloc[errors.abs().argmax()] if len(errors) else None
    return [
        *map(str, name),
        str(len(points)),
        str(int(points.as_told.sum())) if len(points) else MISSING,
        _percent(errors.abs().median()).removeprefix("+") if len(points) else MISSING,
        _percent(worst),
        f"{int(bounds.holds.sum())} of {len(bounds)}" if len(bounds) else MISSING,
        f"{int(verdicts.holds.sum())} of {len(verdicts)}" if len(verdicts) else MISSING,
    ]


_HEADINGS = [
    "points",
    "equal as told",
    "median error",
    "worst",
    "bounds that hold",
    "verdicts not wrong",
]


def by_source(found: Sequence[Score], titles: Mapping[str, str]) -> Table:
    """`titles`: of cards."""
    lines = frame(found)
    lines["kind"] = pd.Categorical(lines.kind, KINDS, ordered=True)
    lines["card"] = [titles.get(card, card) for card in lines.card]
    groups = lines.groupby(["kind", "source", "card"], observed=True)
    return Table(
        key="league",
        title="What others measured, and what vramfit says of it",
        headings=["kind", "measured by", "card", *_HEADINGS],
        rows=[_of(name, group) for name, group in groups],
        note="A point is a run that is told in full, a bound one whose lengths vary up to what was "
        "asked. Equal as told: in every digit that was published.",
        command="make league",
        text_columns=frozenset({1, 2}),
    )


def by_figure(found: Sequence[Score]) -> Table:
    lines = frame(found)
    return Table(
        key="league_figures",
        title="The same by figure",
        headings=["figure", *_HEADINGS],
        rows=[_of((name,), group) for name, group in lines.groupby("figure")],
        note="ended: allocated when generation has ended; verdict: the run had no room.",
        command="make league",
    )


def unasked(rows: Iterable[Row], words: Mapping[str, Any]) -> Table:
    counts = Counter(row.unasked for row in rows if row.unasked)
    return Table(
        key="league_unasked",
        title="Rows that are not asked",
        headings=["rows", "word", "why"],
        rows=[[str(count), word, words["unasked"][word]] for word, count in counts.most_common()],
        note="",
        text_columns=frozenset({1, 2}),
    )


def causes(found: Iterable[Score], words: Mapping[str, Any]) -> Table:
    """Of errors, as far as they were looked into; those that nobody understands are said to be."""
    by_cause: dict[str, list[Score]] = {}
    for score in found:
        if score.row.cause:
            by_cause.setdefault(score.row.cause, []).append(score)
    rows = []
    for cause, group in by_cause.items():
        errors = sorted(score.error for score in group if score.error is not None)
        span = (
            " to ".join(dict.fromkeys(map(_percent, (errors[0], errors[-1]))))
            if errors
            else MISSING
        )
        told = words["causes"][cause]
        rows.append(
            [
                cause,
                str(len(group)),
                span,
                "known" if told["known"] else "not known",
                told["text"],
            ]
        )
    return Table(
        key="league_causes",
        title="What errors come from",
        headings=["", "rows", "errors", "cause", "what is known of it"],
        rows=rows,
        note="",
        text_columns=frozenset({2, 3, 4}),
    )
