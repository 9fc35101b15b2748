"""Runs one side of a case in a process of its own, and takes down what it says.

A result is JSON: `tokens_per_second`, `allocated`, `reserved` and `device_used` (bytes, peaks), or
`oom` or `error` with the reason in words; and always the `command`.
"""

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch_python import last_line

from compare.cases import Case

TIMED_SECONDS = 5  # of our steps: as many as PyTorch's eight, or more
SECONDS = 240  # for one side; torch.compile takes a minute of them for 7B

ROOT = Path(__file__).resolve().parents[2]
PYTORCH_SIDE = Path(__file__).resolve().parent / "pytorch_side.py"

_FIGURES = {
    "tokens_per_second": "tokens_per_second",
    "mem_allocated": "allocated",
    "mem_reserved": "reserved",
    "mem_device_used": "device_used",
}

_OOM = "out of memory"

Result = dict[str, Any]


def _end(process: subprocess.Popen) -> None:
    """Ends the process and all that it started: its process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def _complaint(code: int, log: Path) -> str:
    said = last_line(log.read_text(errors="replace"))
    if code < 0:
        return f"died of signal {-code} ({signal.strsignal(-code)})"
    return said or f"ended with exit code {code}"


def _run(command: Sequence[str | Path], log: Path, seconds: float) -> str:
    """What went wrong, in words; "" if nothing did. What it prints goes into `log`."""
    with log.open("w") as out:
        try:
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            return f"{command[0]}: {error.strerror}"
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"not done after {seconds:.0f} s"
        finally:
            _end(process)
    return _complaint(code, log) if code else ""


def _typed(program: str, arguments: Sequence[str | Path]) -> str:
    """A command as one would type it in the project's folder."""
    texts = [str(argument) for argument in arguments]
    return shlex.join([program, *(text.replace(f"{ROOT}/", "") for text in texts)])


class Sides:
    """Runs either side on this machine."""

    def __init__(self, bench: Path, python: str, work: Path, seconds: float = SECONDS):
        self.bench, self.python, self.work, self.seconds = bench, python, work, seconds
        self.work.mkdir(parents=True, exist_ok=True)
        self._algorithms.unlink(missing_ok=True)  # which GEMMs are fastest is found out anew

    @property
    def _algorithms(self) -> Path:
        return self.work / "gemm-algorithms.txt"

    def _files(self, case: Case, side: str) -> tuple[Path, Path]:
        """Fresh files for the answer and for the rest of what it prints."""
        name = f"{case.row.replace('/', '-').replace(':', '')}-{side}"
        answer, log = self.work / f"{name}.json", self.work / f"{name}.log"
        answer.unlink(missing_ok=True)
        return answer, log

    def ours(self, case: Case) -> tuple[Result, dict[str, str]]:
        """The result, and bench's context: {} where it did not get as far as that."""
        out, log = self._files(case, "vramfit")
        row = [
            "--device=cuda",
            f"--benchmark_filter=^{case.row}$",
            f"--model={case.model}",
            f"--precision={case.precision}",
            f"--optimizer={case.optimizer}",
            f"--batch={case.batch}",
            f"--seq={case.seq}",
            f"--speed-seconds={TIMED_SECONDS}",
        ]
        files = [
            f"--gemm-algorithms={self._algorithms}",
            f"--benchmark_out={out}",
            "--benchmark_out_format=json",
        ]
        start = time.monotonic()
        complaint = _run([self.bench, *row, *files], log, self.seconds)
        result, context = _bench_result(out, complaint)
        result["seconds"] = round(time.monotonic() - start, 1)
        result["command"] = _typed("build/bench", row)
        return result, context

    def pytorch(self, case: Case, mode: str) -> Result:
        out, log = self._files(case, mode)
        arguments = [
            PYTORCH_SIDE,
            f"--config={ROOT / 'data/models' / case.model / 'config.json'}",
            f"--precision={case.precision}",
            f"--optimizer={case.optimizer}",
            f"--batch={case.batch}",
            f"--seq={case.seq}",
            f"--mode={mode}",
        ]
        start = time.monotonic()
        complaint = _run([self.python, *arguments, f"--out={out}"], log, self.seconds)
        result = {"error": complaint} if complaint else json.loads(out.read_text())
        result["seconds"] = round(time.monotonic() - start, 1)
        result["command"] = _typed("python3", arguments)
        return result


def _where(label: str) -> str:
    """Where memory ran out, by the row's label: "in forward of step 2"."""
    parts = label.split("; ")
    return next((part.removeprefix(_OOM).strip() for part in parts if part.startswith(_OOM)), "")


def _bench_result(out: Path, complaint: str) -> tuple[Result, dict[str, str]]:
    try:
        report = json.loads(out.read_text())
        context = report["context"]
    except (OSError, ValueError, TypeError, KeyError):
        return {"error": complaint or "bench wrote no report"}, {}
    if not report.get("benchmarks"):
        return {"error": complaint or "bench reported no row"}, context
    row = report["benchmarks"][0]
    if row.get("error_occurred"):
        return {"error": row.get("error_message", complaint)}, context
    if row.get("oom"):
        return {"oom": _where(row.get("label", ""))}, context
    return {name: row[counter] for counter, name in _FIGURES.items() if counter in row}, context
