"""How far an answer is from what was measured, and whether it is further than it was.

A point is a run of which everything that memory depends on is told. A bound is one of which the
largest is told, a cap on lengths say: what is asked is that, so that more was never measured if the
answer is right."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from programs import ROOT, read_jsonl

from league.asking import Said
from league.rows import AT_MOST, Row

KEPT = ROOT / "data" / "league" / "answers.jsonl"


@dataclass(frozen=True)
class Score:
    row: Row
    said: Said

    @property
    def is_verdict(self) -> bool:
        return self.row.measured is None

    @property
    def is_bound(self) -> bool:
        return self.row.bound == AT_MOST

    @property
    def error(self) -> float | None:
        """Of a figure; positive where more is predicted."""
        if self.said.predicted is None or self.row.measured is None:
            return None
        return self.said.predicted / self.row.measured - 1

    @property
    def as_told(self) -> bool:
        """Equal in every digit that was told."""
        if self.said.predicted is None or self.row.measured is None:
            return False
        return abs(self.said.predicted - self.row.measured) <= self.row.rounding

    @property
    def miss(self) -> int:
        """Bytes on the wrong side: of a point either, of a bound below; of a verdict 0 or 1."""
        if self.said.predicted is None:
            return 1 << 62  # worse than any answer
        if self.row.measured is None:
            return int(self.said.verdict == "FITS")  # all that are kept ran out of memory
        off = self.said.predicted - self.row.measured
        return max(-off, 0) if self.is_bound else abs(off)

    @property
    def holds(self) -> bool:
        return self.miss <= self.row.rounding


def scores(rows: Iterable[Row], said: Mapping[str, Said]) -> list[Score]:
    return [Score(row, said[row.key]) for row in rows]


def frame(found: Sequence[Score]) -> pd.DataFrame:
    """A line a score, for tables."""
    return pd.DataFrame(
        {
            "id": [score.row.id for score in found],
            "source": [score.row.source for score in found],
            "kind": [score.row.kind for score in found],
            "card": [score.row.card or score.row.gpu for score in found],
            "figure": [score.row.figure for score in found],
            "form": [
                "verdict" if score.is_verdict else "bound" if score.is_bound else "point"
                for score in found
            ],
            "measured": [score.row.measured for score in found],
            "predicted": [score.said.predicted for score in found],
            "error": [score.error for score in found],
            "as_told": [score.as_told for score in found],
            "holds": [score.holds for score in found],
            "cause": [score.row.cause for score in found],
        }
    )


def answers(found: Iterable[Score]) -> list[dict[str, Any]]:
    """What data/league/answers.jsonl holds: how far each was off when it was committed."""
    return [
        {"key": score.row.key, "predicted": score.said.predicted, "miss": score.miss}
        for score in found
    ]


def kept() -> dict[str, int]:
    """How far each was off when it was committed."""
    return {line["key"]: line["miss"] for line in read_jsonl(KEPT)} if KEPT.exists() else {}


def worse(before: Mapping[str, int], now: Iterable[Score]) -> list[str]:
    """What is further off than it was, in lines for a reader."""
    found = []
    for score in now:
        was = before.get(score.row.key)
        if was is not None and score.miss > was:
            told = score.said.refused or f"off by {score.miss:,} bytes, was {was:,}"
            found.append(f"{score.row.key}: {told}")
    return found
