"""Mutated command lines of `fit` and `bench`: they end in an answer or in one line of refusal.

commands.py [COUNT [FIRST_SEED]]
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from asked import question
from campaign import ROOT, Case, program, refusal, run

sys.path.insert(0, str(ROOT / "tests"))
import built

_TIMEOUT = 30
_RSS = 256_000_000
# `fit` answers 0 or 1, `bench` 0; both refuse with 2. 3, which files and machines are blamed for,
# is right only where a command line names such a file.
_ANSWERS = {"fit": {0, 1}, "bench": {0}}

# Numbers, sizes, names and paths that one may be mistaken for another, and what parsers trip over.
NASTY = (Path(__file__).parent / "nasty.txt").read_text(encoding="utf-8").splitlines()
NASTY += ["", " ", " 1", "1 ", "24 GB", "a\nb", "a\tb", "\a", "\r", "\x7f", "\x1b[31mred"]
NASTY += ["\u2028", "\u202e", "9" * 30, "9" * 400, "x" * 300, "x" * 20000]
BYTES = [b"\xff", b"\xc3", b"a\xed\xa0\x80b", b"\xc0\x80", b"\xf5\x80\x80\x80"]

# Flags that write files are not for random values.
_WRITE = {"--benchmark_out", "--write-profile", "--journal", "--resume", "--gemm-algorithms"}
# What keeps a run of bench short: nothing here is measured or of a model of any size.
_BENCH = [
    ["--benchmark_list_tests"],
    ["--benchmark_filter=^Article/", "--benchmark_min_time=0.001"],
    ["--benchmark_filter=^KvCache/gpt2", "--benchmark_min_time=0.001"],
]


@cache
def _program(name: str) -> Path:
    return built.program(name)


@cache
def _flags(name: str) -> list[str]:
    """Every flag that the program knows, by its help."""
    text = subprocess.run(
        [_program(name), "--help"], capture_output=True, text=True, check=True
    ).stdout
    return sorted(set(re.findall(r"--[a-z][a-z0-9_-]+", text)) - _WRITE)


@cache
def _nasty_files() -> list[str]:
    """Paths that are no files one could read; in a folder that stays until this process ends."""
    folder = tempfile.mkdtemp(prefix="vramfit-fuzz-")
    kinds = {
        "empty": "",
        "list": "[]",
        "object": "{}",
        "deep": "[" * 100_000,
        "llama": '{"model_type": "llama"}',
    }
    for name, text in kinds.items():
        Path(folder, name).write_text(text)
    Path(folder, "binary").write_bytes(bytes(range(256)))
    os.mkfifo(Path(folder, "fifo"))
    Path(folder, "loop").symlink_to("loop")
    Path(folder, "unreadable").symlink_to("/proc/self/mem")
    return sorted(str(path) for path in Path(folder).iterdir())


def _value(random: Random) -> str | bytes:
    kind = random.random()
    if kind < 0.1:
        return random.choice(BYTES)
    if kind < 0.2:
        return random.choice(_nasty_files())
    return random.choice(NASTY)


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _misspelt(random: Random, text: bytes) -> bytes:
    at = random.randrange(len(text) + 1)
    shorter, longer = text[:at] + text[at + 1 :], text[:at] + b"e" + text[at:]
    return random.choice([shorter, longer, text[:at], text.upper(), text + b"="])


def _mutated(random: Random, line: list[bytes], flags: list[str]) -> list[bytes]:
    line = list(line)
    at = random.randrange(len(line)) if line else 0
    match random.randrange(7):
        case 0 if line:
            del line[at]
        case 1 if line:
            line.insert(random.randrange(len(line) + 1), line[at])
        case 2 if line:
            line[at] = _misspelt(random, line[at])
        case 3:
            flag, value = random.choice(flags).encode(), _encoded(_value(random))
            line += random.choice([[flag], [flag, value], [flag + b"=" + value]])
        case 4 if line:
            name, equals, _ = line[at].partition(b"=")
            line[at] = (
                name + equals + _encoded(_value(random)) if equals else _encoded(_value(random))
            )
        case 5:
            line.insert(at, _encoded(_value(random)))
        case _:
            values = [i for i, part in enumerate(line) if not part.startswith(b"--")]
            if values:
                line[random.choice(values)] = _encoded(_value(random))
    return [part.replace(b"\0", b"") for part in line]


def _bench_line(random: Random) -> list[str]:
    device = random.choice(["--device=virtual:rtx4090", "--device=cpu"])
    return [device, *random.choice(_BENCH)]


def _kept_short(line: list[bytes]) -> list[bytes]:
    """What follows wins: a filter that was lost, or another, must not start the whole sweep."""
    return [*line, b"--benchmark_list_tests"]


def check(random: Random) -> Case:
    name = random.choices(["fit", "bench"], [3, 1])[0]
    if name == "fit":
        line = [part.encode() for part in question(random).arguments()]
    else:
        line = [part.encode() for part in _bench_line(random)]
    for _ in range(random.choices([1, 2, 3, 4], [8, 4, 2, 1])[0]):
        line = _mutated(random, line, _flags(name))
    if name == "bench" and b"--benchmark_list_tests" not in line:
        line = _kept_short(line)
    ended = run([_program(name), *line], _TIMEOUT)
    typed = shlex.join([name, *(part.decode(errors="backslashreplace") for part in line)])
    case = Case(ascii(typed)[1:-1][:600], ended.seconds, ended.rss)
    if ended.hung:
        case.kind, case.broken = "hung", [f"not over after {_TIMEOUT} s"]
    elif ended.status in _ANSWERS[name]:
        case.kind = f"{name} answered"
    elif ended.status == 2:
        case.kind, case.broken = f"{name} refused", refusal(ended)
    else:
        case.kind, case.broken = "failed", [f"exit {ended.status}: {ended.err[:300]!r}"]
    if ended.rss >= _RSS:
        case.broken.append(f"{ended.rss / 1e6:.0f} MB of memory")
    return case


if __name__ == "__main__":
    sys.exit(program("commands", check))
