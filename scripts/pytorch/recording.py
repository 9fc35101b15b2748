"""What one measuring program has recorded so far: a file that outlives whoever is killed.

Its first line says what it is measured with; the program appends a line for each case as that ends.
"""

import fcntl
import json
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from programs import ROOT, BadInputError, parse_json, read_text
from pytorch.cases import Case
from torch_python import last_line

_MAY_DIFFER = {"date"}  # of what cases of one file are measured with
_POLL_SECONDS = 0.2
_NO_LIMIT = "1e9"  # seconds: each case has its own

Line = dict[str, Any]


class Recording:
    """`more`: by measure_pytorch_more.py."""

    def __init__(self, work: Path, env: Mapping[str, str], *, more: bool):
        name = "measure_pytorch_more" if more else "measure_pytorch"
        self.program = ROOT / "data" / "reference" / f"{name}.py"
        self.file, self.more = work / f"{name}.jsonl", more
        self._log = work / f"{name}.log"
        self._check(env)
        if not self.file.exists():
            self._append({"env": dict(env)})

    def _append(self, line: Line) -> None:
        with self.file.open("a") as out:
            out.write(json.dumps(line) + "\n")

    def _check(self, env: Mapping[str, str]) -> None:
        """That what a kill left is whole, and was measured with the same."""
        if not self.file.exists():
            return
        lines = self._lines()
        if not lines:
            self.file.unlink()
            return
        with self.file.open("r+b") as file:  # a line that a kill cut short is no measurement
            file.truncate(file.read().rfind(b"\n") + 1)
        kept = lines[0].get("env", {})
        for key in dict.fromkeys([*env, *kept]):
            old, new = kept.get(key, "none"), env.get(key, "none")
            if key not in _MAY_DIFFER and old != new:
                raise BadInputError(
                    f"{self.file}: was measured with {key} {old}, and this is {new}; go on with "
                    "that, or move the file away"
                )

    def _lines(self) -> list[Line]:
        """Those that are written to their end."""
        text = read_text(self.file)
        rows = enumerate(text[: text.rfind("\n") + 1].splitlines(), 1)
        lines = [parse_json(row, f"{self.file}:{i}") for i, row in rows]
        if not all(isinstance(line, dict) for line in lines):
            raise BadInputError(f"{self.file}: is no recording; remove it and measure again")
        return lines

    def lines(self) -> list[Line]:
        """Of the cases that are done, in the order in which they were."""
        return [line for line in self._lines() if "case" in line]

    @property
    def env(self) -> Line:
        """What it was measured with, in our words and the program's."""
        envs = [line["env"] for line in self._lines() if "env" in line]
        return {key: value for env in reversed(envs) for key, value in env.items()}

    def missing(self, cases: Iterable[Case]) -> list[Case]:
        done = [line["case"] for line in self.lines()]
        return [case for case in cases if case.setting not in done]

    def measure(self, cases: list[Case], python: str, report: Callable[[Line], None]) -> str:
        """Runs the program over them, and reports each as it ends. What went wrong, in words."""
        asked = self.file.with_suffix(".cases.json")
        asked.write_text(json.dumps([case.setting for case in cases]))
        command = [python, self.program, asked, self.file, _NO_LIMIT]
        known = len(self.lines())
        with self._log.open("w") as log, self._locked() as lock:
            try:
                process = subprocess.Popen(
                    command, stdout=log, stderr=subprocess.STDOUT, pass_fds=[lock.fileno()]
                )
            except OSError as error:
                return f"{python}: {error.strerror}"
            try:
                running = True
                while running:
                    running = process.poll() is None
                    for line in self.lines()[known:]:
                        report(line)
                        known += 1
                    time.sleep(_POLL_SECONDS if running else 0)
            except BaseException:
                process.kill()
                process.wait()
                raise
        if process.returncode == 0:
            return ""
        return last_line(self._log.read_text(errors="replace")) or f"exit {process.returncode}"

    def _locked(self) -> Any:
        """A file that is locked for as long as it or the program is there, so that no two write."""
        lock = self.file.with_suffix(".lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise BadInputError(f"{self.file}: is being measured by another process") from None
        return lock

    def keep(self, file: Path, more: Iterable[Line] = ()) -> None:
        """As a file of data/reference, all or nothing, never in place of another."""
        lines = [{"env": self.env}, *self.lines(), *more]
        beside = file.with_suffix(".part")
        try:
            beside.write_text("".join(json.dumps(line) + "\n" for line in lines))
            file.hardlink_to(beside)
        finally:
            beside.unlink(missing_ok=True)

    def remove(self) -> None:
        for used in (".cases.json", ".lock", ".log", ".jsonl"):  # the measurements go last
            self.file.with_suffix(used).unlink(missing_ok=True)
