"""What was measured, one figure a row: the published tables, and the cases that people sent.

`data/league/published.jsonl` has rows as they were published, with the question that stands for
each, or the word for why there is none; `data/league/cases.jsonl` has cases, of several figures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import ROOT, read_json, read_jsonl

FOLDER = ROOT / "data" / "league"
WORDS = FOLDER / "words.json"
KINDS = ("training", "LoRA", "inference", "vLLM", "llama.cpp")
EXACT, AT_MOST = "exact", "at most"


@dataclass(frozen=True)
class Row:
    id: str
    source: str  # whose table it is
    page: str  # where in it
    kind: str  # of KINDS
    gpu: str  # as told
    card: str | None  # of data/gpus.json
    gpus: int
    told: Mapping[str, Any]  # the source's words
    metric: str
    measured: int | None  # bytes; None: it says how the run ended
    rounding: int  # half a unit of the last digit that was told, in bytes
    outcome: str | None = None  # "OOM"
    question: Mapping[str, Any] | None = None  # fit's flags
    played: Mapping[str, Any] | None = None  # in their place: what play_peft.py plays
    figure: str = ""  # of figures.py
    bound: str = EXACT  # AT_MOST: what was asked is the largest that the run may have been
    cause: str | None = None  # of its error: a key of words.json
    unasked: str | None = None  # why there is no question: a key of words.json

    @property
    def key(self) -> str:
        return f"{self.id} {self.figure}"


def _publisher(source: str) -> str:
    """ "QwenLM/Qwen2.5@f4d356cb^:docs/…" is Qwen2.5's."""
    return source.partition(":")[0].partition("@")[0]


def published(path: Path = FOLDER / "published.jsonl") -> list[Row]:
    found = []
    for line in read_jsonl(path):
        left = {key: value for key, value in line.items() if key != "date"}
        left |= {"source": _publisher(line["source"]), "page": line["source"]}
        found.append(Row(**{"measured": None, "rounding": 0, **left}))
    return found


def _kind(question: Mapping[str, Any]) -> str:
    runtime = question.get("runtime", "pytorch")
    if runtime != "pytorch":
        return "vLLM" if runtime == "vllm" else str(runtime)
    if not question.get("train"):
        return "inference"
    return "LoRA" if question.get("lora") else "training"


def _told(case: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in case["versions"].items())


def cases(path: Path = FOLDER / "cases.jsonl") -> list[Row]:
    """Of each case a row for every figure that was measured, or one where it had no room."""
    found = []
    for case in read_jsonl(path):
        question = case["question"]
        measured = case.get("measured", {"verdict": None})
        found += [
            Row(
                id=case["id"],
                source=f"case of {case['from']}",
                page=case["id"],
                kind=_kind(question),
                gpu=case["gpu"]["name"],
                card=question.get("gpu"),
                gpus=int(question.get("gpus", 1)),
                told={"model": question.get("model", "a config"), "seq": question.get("seq")},
                metric=_told(case),
                measured=value,
                rounding=0,
                outcome=case.get("outcome"),
                question=question,
                figure=figure,
                cause=case.get("cause"),
            )
            for figure, value in measured.items()
        ]
    return found


def every_row() -> list[Row]:
    return published() + cases()


def asked(rows: Iterable[Row]) -> list[Row]:
    """By a question, or played on the stand-in."""
    return [row for row in rows if row.question is not None or row.played is not None]


def words() -> dict[str, Any]:
    return read_json(WORDS)
