"""Asks vramfit the rows' questions, all in this process: the package's calls leave other threads
running. What was played on the stand-in is read: `make league-played` plays it."""

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import ROOT, read_jsonl, require_made

from league.figures import FIGURES
from league.rows import FOLDER, Row

PACKAGE = Path(os.environ.get("VRAMFIT_PACKAGE") or ROOT / "build" / "python")

PLAYED = FOLDER / "played.jsonl"


@dataclass(frozen=True)
class Said:
    """Of a row's question."""

    predicted: int | None  # bytes of the row's figure
    verdict: str  # FITS, TIGHT or OOM; "" where it was refused
    refused: str = ""  # the line, where vramfit has no answer


def package() -> Any:
    require_made({PACKAGE / "vramfit": "wheel"})
    if str(PACKAGE) not in sys.path:
        sys.path.insert(0, str(PACKAGE))
    import vramfit  # noqa: PLC0415  `make wheel` puts it there

    return vramfit


def _answer(vramfit: Any, question: Mapping[str, Any]) -> dict[str, Any] | str:
    try:
        return json.loads(vramfit.estimate(**question).to_json())
    except vramfit.BadInput as refused:
        return str(refused)


def _said(row: Row, answer: dict[str, Any] | str) -> Said:
    if isinstance(answer, str):
        return Said(None, "", answer)
    return Said(FIGURES[row.figure](answer), answer["verdict"])


def _of_played(row: Row, line: Mapping[str, Any]) -> Said:
    if row.measured is not None:
        return Said(line[row.figure], "")
    if "outcome" in line:
        return Said(0, line["outcome"])
    return Said(line["reserved"], line["verdict"])


def _played(rows: Iterable[Row]) -> dict[str, Said]:
    found = {line["id"]: line for line in read_jsonl(PLAYED)}
    return {row.key: _of_played(row, found[row.id]) for row in rows}


def ask(rows: Sequence[Row]) -> tuple[dict[str, Said], float]:
    """By the rows' keys, and the seconds that all took. Rows of one question ask once."""
    vramfit = package()
    begun = time.perf_counter()
    asked = [row for row in rows if row.question is not None]
    spelt = {row.key: json.dumps(row.question, sort_keys=True) for row in asked}
    questions = sorted(set(spelt.values()))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = pool.map(lambda text: _answer(vramfit, json.loads(text)), questions)
        answers = dict(zip(questions, found, strict=True))
    said = {row.key: _said(row, answers[spelt[row.key]]) for row in asked}
    said |= _played(row for row in rows if row.played is not None)
    return said, time.perf_counter() - begun
