"""Trains the report's model on this GPU, PyTorch beside it, and says what fewer bits cost.

    PYTHONPATH=scripts python -m quality --tokens build/corpus --out build/quality/results

Parts come in order: start, a stretch, PyTorch's steps of the same course, further stretches, then
perplexity in every format and what LoRA learns of a slice. Each is done once: run again, it goes on
where it stopped. With --seconds it stops in time, and training leaves a checkpoint behind. What
came out so far is in OUT, lines of JSON; weights stay in the state's folder. --build builds the
program first. A part that fails is told, and does not stop those behind it.
"""

import argparse
import json
import lzma
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from programs import ROOT, Arguments, BadInputError, file_or_folder, program, read_json

from quality.logs import said
from quality.plan import Plan, shortened

_COURSE = ROOT / "data" / "quality" / "course.json"
_BUILT = ROOT / "build" / "cuda" / "bin" / "quality"
_LAST = 25  # seconds that a stretch leaves for its checkpoint
_LEAST = 20  # seconds under which no part is begun
_RESULTS = ("facts.json", "ours.jsonl", "pytorch.jsonl", "scores.jsonl", "tuned.jsonl")


class Parts:
    """Runs one after the other, each once, for as long as there is time."""

    def __init__(self, plan: Plan, out: Path, seconds: float) -> None:
        self.plan, self.out, self.state = plan, out, plan.state
        self._ends = time.monotonic() + seconds
        self.failed: list[str] = []

    @property
    def left(self) -> float:
        return self._ends - time.monotonic()

    def run(self, command: Sequence[str], log: str, to: Path | None = None) -> None:
        """What it prints is added to a file; what it complains of, to OUT's log."""
        with (self.out / log).open("a") as told:
            print("$", " ".join(command), file=told, flush=True)
            with to.open("a") if to else nullcontext(told) as said:
                subprocess.run(command, stdout=said, stderr=told, check=True, timeout=self.left)

    def part(self, name: str, do: Callable[[], Any]) -> None:
        done = self.state / f"{name}.done"
        if done.exists() or self.left < _LEAST:
            return
        begun = time.monotonic()
        try:
            if do() is not False:
                done.touch()
        except (BadInputError, OSError, subprocess.SubprocessError, ValueError) as error:
            self.failed.append(name)
            print(f"{name}: {error}", file=sys.stderr)
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
        self.hand_over()

    def hand_over(self) -> None:
        for name in _RESULTS:
            if (self.state / name).exists():
                shutil.copy(self.state / name, self.out / name)


def _unpack(tokens: Path, to: Path) -> None:
    """Of .u16.xz files; those that are unpacked already are taken as they are."""
    for file in tokens.glob("*.u16*"):
        content = file.read_bytes()
        packed = file.suffix == ".xz"
        (to / file.name.removesuffix(".xz")).write_bytes(
            lzma.decompress(content) if packed else content
        )


def _facts(parts: Parts, python: str) -> None:
    asked = "import json, torch, transformers; print(json.dumps({'gpu': "
    asked += "torch.cuda.get_device_name() if torch.cuda.is_available() else None, 'torch': "
    asked += "torch.__version__, 'transformers': transformers.__version__}))"
    told = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    driver = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    facts = {**json.loads(told.stdout.splitlines()[-1]), "course": parts.plan.course}
    if shutil.which(driver[0]):
        found = subprocess.run(driver, capture_output=True, text=True, check=True)
        facts["driver"] = found.stdout.splitlines()[0].strip()
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if head.returncode == 0:
        facts["commit"] = head.stdout.strip()
    (parts.state / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


def _build(parts: Parts) -> None:
    for command in ("cmake --preset cuda", "cmake --build --preset cuda --target quality"):
        parts.run(command.split(), "build.log")


def _train(parts: Parts) -> bool:
    """A stretch up to the course's end, or to the end of the time there is."""
    plan, log = parts.plan, parts.state / "ours.jsonl"
    stretch = f"--seconds={max(parts.left - _LAST, 1):.0f}"
    parts.run(plan.train(stretch, checkpoint=plan.checkpoint, log=log), "log")
    return any(line["step"] == plan.course["steps"] for line in said(log, "step"))


def _score(parts: Parts) -> None:
    file = parts.state / "scores.jsonl"
    lines = said(file, "precision", "cache") if file.exists() else []
    there = {(line["cache"], line["precision"]) for line in lines}
    for row in parts.plan.course["score"]["rows"]:
        missing = [p for p in row["precisions"] if (row["cache"], p) not in there]
        if missing:
            parts.run(parts.plan.score(row["cache"], missing), "log", file)


def _tune(parts: Parts, tuned: dict[str, Any]) -> None:
    log = parts.state / f"tuned-{tuned['name']}.jsonl"
    parts.run(parts.plan.tune(tuned, log), "log")
    with (parts.state / "tuned.jsonl").open("a") as every:
        for line in said(log, "step"):
            print(json.dumps({"course": tuned["name"], **line}), file=every)


def _measure(parts: Parts, python: str) -> None:
    plan, state = parts.plan, parts.state
    parts.hand_over()
    start, batches = state / "start.safetensors", state / "batches.u16"
    ours = state / "ours.jsonl"
    pytorch_steps = f"--stop-after={plan.course['pytorch_steps']}"
    drawn = plan.train("--stop-after=0", checkpoint=start, log=state / "start.jsonl")
    first = plan.train(pytorch_steps, checkpoint=plan.checkpoint, log=ours)
    beside = plan.pytorch(python, start, batches, state / "pytorch.jsonl")
    parts.part("start", lambda: parts.run(drawn, "log"))
    parts.part("batches", lambda: parts.run(plan.batches(batches), "log"))
    parts.part("first", lambda: parts.run(first, "log"))
    parts.part("pytorch", lambda: parts.run(beside, "log"))
    parts.part("train", lambda: _train(parts))
    if not (state / "train.done").exists():
        return
    parts.part("score", lambda: _score(parts))
    for tuned in plan.course["tuning"]["courses"]:
        parts.part(f"tune-{tuned['name']}", lambda tuned=tuned: _tune(parts, tuned))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(prog="quality", description=__doc__)
    parser.add_argument("--tokens", type=Path, required=True, help="what scripts/corpus wrote")
    parser.add_argument("--course", type=Path, default=_COURSE)
    parser.add_argument("--out", type=file_or_folder, default=ROOT / "build/quality/results")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "quality" / "state")
    parser.add_argument("--seconds", type=float, default=86400, help="in which to end")
    parser.add_argument("--python", default=sys.executable, help="that has PyTorch")
    parser.add_argument("--program", type=Path, default=_BUILT)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--build", action="store_true", help="the program, first")
    parser.add_argument("--smoke", action="store_true", help="a short course, a state of its own")
    return parser.parse_args(argv)


@program("quality")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    course, state = read_json(given.course), given.state
    if given.smoke:
        course, state = shortened(course), state.with_name(f"{state.name}-smoke")
        given.out = given.out.with_name(f"{given.out.name}-smoke")
    if not any(given.tokens.glob("*.u16*")):
        raise BadInputError(f"--tokens: no .u16 files in {given.tokens}; scripts/corpus has them")
    for folder in (state, given.out):
        folder.mkdir(parents=True, exist_ok=True)
    plan = Plan(course, given.program, state, state, given.device)
    parts = Parts(plan, given.out, given.seconds)
    if given.build:
        parts.part("build", lambda: _build(parts))
    parts.part("tokens", lambda: _unpack(given.tokens, state))
    parts.part("facts", lambda: _facts(parts, given.python))
    _measure(parts, given.python)
    finished = (state / "train.done").exists() and not parts.failed
    print("failed: " + ", ".join(parts.failed) if parts.failed else f"finished: {finished}")
    return 1 if parts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
