"""Random cases on all cores, and what came of them: a case is a seed, and checks itself."""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Timer

WORKERS = len(os.sched_getaffinity(0))
_CHUNK = 20  # cases a worker is handed at a time
_SLEEPS = 60  # times as long as it may work, where others have the processors
_LINE = 200  # characters of a refusal
_SHOWN = 40  # broken cases that are printed, of thousands

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ended:
    """A process that is over."""

    status: int  # negative: the signal that ended it
    out: bytes
    err: bytes
    seconds: float  # of a processor: all are busy
    rss: int  # bytes, the most it held

    @property
    def hung(self) -> bool:
        """Ended by us: nothing else kills it."""
        return -self.status in (signal.SIGKILL, signal.SIGXCPU)


def run(command: Sequence[str | bytes | Path], timeout: int) -> Ended:
    """Kills what is not over after `timeout` seconds of a processor, or sleeps for long."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (timeout, timeout))
        timer = Timer(_SLEEPS * timeout, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = usage.ru_utime + usage.ru_stime
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)  # reaped here, not by Popen
        out.seek(0)
        err.seek(0)
        return Ended(process.returncode, out.read(), err.read(), seconds, usage.ru_maxrss * 1024)


def refusal(ended: Ended) -> list[str]:
    """What is wrong with how something was refused."""
    text = ended.err.decode(errors="replace")
    lines = text.removesuffix("\n").split("\n")
    whole = len(lines) == 1 and 0 < len(lines[0]) <= _LINE and lines[0].isprintable()
    if not whole or "\ufffd" in text or ended.out:
        return [f"exit 2, and no printable line of {_LINE} characters at most: {ended.err[:400]!r}"]
    return []


@dataclass
class Case:
    """`command` is how a user would type it; `broken` what does not hold."""

    command: str
    seconds: float = 0.0
    rss: int = 0
    kind: str = ""  # what came of it, to be counted
    broken: list[str] = field(default_factory=list)
    seed: int = 0


@dataclass(frozen=True)
class Limits:
    """What a program may take."""

    seconds: int
    rss: int = 256_000_000

    def judge(self, command: str, ended: Ended, answers: Mapping[int, str]) -> Case:
        """Whether a program ended as it may. `answers` has what came of it, by its exit code: 2 is
        a refusal, and what is not among them a failure."""
        case = Case(command, ended.seconds, ended.rss)
        if ended.hung:
            case.kind, case.broken = "hung", [f"not over after {self.seconds} s"]
        elif ended.status not in answers:
            case.kind, case.broken = "failed", [f"exit {ended.status}: {ended.err[:300]!r}"]
        else:
            case.kind = answers[ended.status]
            case.broken = refusal(ended) if ended.status == 2 else []
        if ended.rss >= self.rss:
            case.broken.append(f"{ended.rss / 1e6:.0f} MB of memory")
        return case


@dataclass
class Figures:
    cases: int = 0
    seconds: float = 0.0  # of a processor
    clock: float = 0.0  # seconds that all together took, with what checks asked for
    worst: Case = field(default_factory=lambda: Case(""))
    largest: Case = field(default_factory=lambda: Case(""))
    kinds: Counter[str] = field(default_factory=Counter)
    kind_seconds: Counter[str] = field(default_factory=Counter)
    broken: list[Case] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return self.seconds / max(self.cases, 1)

    def add(self, case: Case) -> None:
        self.cases += 1
        self.seconds += case.seconds
        self.kinds[case.kind] += 1
        self.kind_seconds[case.kind] += case.seconds
        self.worst = max(self.worst, case, key=lambda one: one.seconds)
        self.largest = max(self.largest, case, key=lambda one: one.rss)
        if case.broken:
            self.broken.append(case)

    def text(self, name: str) -> str:
        kinds = ", ".join(
            f"{count:,} {kind} in {1e3 * self.kind_seconds[kind] / count:.1f} ms"
            for kind, count in self.kinds.most_common()
        )
        return (
            f"{name}: {self.cases:,} cases ({kinds}); {len(self.broken)} broken\n"
            f"  {self.clock:,.0f} s by the clock on {WORKERS} cores\n"
            f"  mean {1e3 * self.mean:.1f} ms; worst {self.worst.seconds:.2f} s: "
            f"{self.worst.command}\n"
            f"  memory at most {self.largest.rss / 1e6:.0f} MB: {self.largest.command}"
        )


def _report(case: Case, number: int) -> None:
    if number <= _SHOWN:
        print(f"broken, seed {case.seed}: {case.command}", file=sys.stderr)
        for line in case.broken:
            print(f"  {line}", file=sys.stderr, flush=True)


class _Checked:
    """A check that a worker can be sent."""

    def __init__(self, check: Callable[[Random], Case]):
        self.check = check

    def __call__(self, seed: int) -> Case:
        case = self.check(Random(seed))
        case.seed = seed
        return case


def campaign(check: Callable[[Random], Case], count: int, first: int = 1) -> Figures:
    """The cases of `count` seeds from `first` on."""
    figures = Figures()
    began = time.monotonic()
    with ProcessPoolExecutor(WORKERS) as pool:
        for case in pool.map(_Checked(check), range(first, first + count), chunksize=_CHUNK):
            figures.add(case)
            if case.broken:
                _report(case, len(figures.broken))
    figures.clock = time.monotonic() - began
    return figures


def program(name: str, check: Callable[[Random], Case]) -> int:
    """A campaign as a command: NAME.py [COUNT [FIRST_SEED]]. 1 where a case is broken."""
    parser = argparse.ArgumentParser(prog=f"{name}.py")
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("first", type=int, nargs="?", default=1, help="the first seed")
    given = parser.parse_args()
    figures = campaign(check, given.count, given.first)
    print(figures.text(name), flush=True)
    return 1 if figures.broken else 0
