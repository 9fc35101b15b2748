"""What the course of data/quality/course.json is made of: command lines of `quality`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import ROOT

_SHORT = {"steps": 30, "warm_up": 5, "evaluate_every": 20, "evaluate_on": 1, "pytorch_steps": 5}
_SHORT_SCORE = {"prompt": 960, "windows": 64}
_SHORT_TUNING = {"steps": 10, "warm_up": 2, "evaluate_on": 1}


def shortened(course: Mapping[str, Any]) -> dict[str, Any]:
    """A course of a minute, of the same parts."""
    return {
        **course,
        **_SHORT,
        "score": {**course["score"], **_SHORT_SCORE},
        "tuning": {**course["tuning"], **_SHORT_TUNING},
    }


@dataclass(frozen=True)
class Plan:
    course: Mapping[str, Any]
    program: Path
    tokens: Path  # a folder of .u16 files
    state: Path  # a folder for what is kept between stretches
    device: str = "cuda"

    @property
    def config(self) -> Path:
        given = self.course.get("config")
        return ROOT / (given or f"data/models/{self.course['model']}/config.json")

    @property
    def checkpoint(self) -> Path:
        return self.state / "checkpoint.safetensors"

    def _model(self, batch: int) -> list[str]:
        return [
            f"--device={self.device}",
            f"--config={self.config}",
            f"--batch={batch}",
            f"--seq={self.course['seq']}",
        ]

    def _course(self, course: Mapping[str, Any], log: Path, text: str) -> list[str]:
        return [
            f"--text={self.tokens / f'{text}train.u16'}",
            f"--held-out={self.tokens / f'{text}held_out.u16'}",
            f"--log={log}",
            f"--steps={course['steps']}",
            f"--warm-up={course['warm_up']}",
            f"--learning-rate={course['learning_rate']}",
            f"--evaluate-every={course.get('evaluate_every', 0)}",
            f"--evaluate-on={course['evaluate_on']}",
            f"--gemm-algorithms={self.state / 'gemm_algorithms'}",
        ]

    def train(self, *stretch: str, checkpoint: Path, log: Path) -> list[str]:
        course = self.course
        start = [str(self.program), "train", *self._model(course["batch"])]
        return [*start, *self._course(course, log, ""), f"--checkpoint={checkpoint}", *stretch]

    def batches(self, out: Path) -> list[str]:
        batch, seq, steps = (self.course[key] for key in ("batch", "seq", "pytorch_steps"))
        text = self.tokens / "train.u16"
        size = [f"--config={self.config}", f"--batch={batch}", f"--seq={seq}", f"--steps={steps}"]
        return [str(self.program), "batches", *size, f"--text={text}", f"--out={out}"]

    def pytorch(self, python: str, start: Path, batches: Path, log: Path) -> list[str]:
        course = self.course
        return [
            python,
            str(ROOT / "scripts/quality/pytorch_side.py"),
            f"--config={self.config}",
            f"--start={start}",
            f"--batches={batches}",
            f"--rates={self.state / 'ours.jsonl'}",
            f"--log={log}",
            f"--batch={course['batch']}",
            f"--seq={course['seq']}",
            f"--steps={course['pytorch_steps']}",
            f"--micro={course.get('pytorch_micro', 16)}",
            f"--device={self.device}",
        ]

    def score(self, cache: str, precisions: list[str]) -> list[str]:
        score = self.course["score"]
        return [
            str(self.program),
            "score",
            *self._model(score["batch"]),
            f"--start={self.checkpoint}",
            f"--held-out={self.tokens / 'held_out.u16'}",
            f"--prompt={score['prompt']}",
            f"--windows={score['windows']}",
            f"--cache={cache}",
            f"--precision={','.join(precisions)}",
        ]

    def tune(self, tuned: Mapping[str, Any], log: Path) -> list[str]:
        tuning = self.course["tuning"]
        return [
            str(self.program),
            "train",
            *self._model(tuning["batch"]),
            *self._course({**tuning, **tuned}, log, "slice_"),
            f"--start={self.checkpoint}",
            f"--precision={tuned['precision']}",
            f"--lora={tuned['lora']}",
        ]
