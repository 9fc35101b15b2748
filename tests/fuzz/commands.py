"""Mutated command lines of `fit` and `bench`: they end in an answer or in one line of refusal.

commands.py [COUNT [FIRST_SEED]]
"""

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random

from asked import question
from campaign import ROOT, Case, Limits, program, run

sys.path.insert(0, str(ROOT / "tests"))
import built

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
_WRITE |= {"--snapshot", "--trace"}
# What keeps a run of bench short: nothing here is measured or of a model of any size.
_BENCH = [
    ["--benchmark_list_tests"],
    ["--benchmark_filter=^Article/"],
    ["--benchmark_filter=^Training/gpt2", "--model=gpt2-124m"],
]
_SLOW = {
    "--benchmark_min_time",
    "--benchmark_min_warmup_time",
    "--benchmark_repetitions",
    "--speed-seconds",
}


@cache
def _program(name: str) -> Path:
    return built.program(name)


@cache
def _limits(name: str) -> Limits:
    """Beside what `bench` takes before it does anything: it is linked with CUDA's libraries."""
    linked = run([_program(name), "--help"], 30).rss if name == "bench" else 0
    return Limits(30, Limits.rss + linked)


@cache
def _flags(name: str) -> list[str]:
    """Every flag that the program knows, by its help."""
    text = subprocess.run(
        [_program(name), "--help", *(["all"] if name in ("fit", "bench") else [])],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return sorted(set(re.findall(r"--[a-z][a-z0-9_-]+", text)) - _WRITE)


def _nasty_files(folder: Path) -> list[str]:
    """Paths of what is no file that one could read, or holds nothing of use."""
    folder.mkdir(parents=True, exist_ok=True)
    llama = '{"model_type": "llama"}'
    texts = {"empty": "", "list": "[]", "object": "{}", "deep": "[" * 100_000, "llama": llama}
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "binary").write_bytes(bytes(range(256)))
    links = {"loop": "loop", "unreadable": "/proc/self/mem", "nothing": "/nowhere"}
    for name, target in links.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)
    (folder / "fifo").unlink(missing_ok=True)
    os.mkfifo(folder / "fifo")
    return sorted(str(path) for path in folder.iterdir())


_FILES = _nasty_files(ROOT / "build" / "fuzz" / "nasty")  # where a broken case finds them again


def _value(random: Random) -> str | bytes:
    kind = random.random()
    if kind < 0.1:
        return random.choice(BYTES)
    if kind < 0.2:
        return random.choice(_FILES)
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
    """Without what was lost of it, bench would run the whole sweep, or on this machine's GPU; with
    some values it would rightly take hours."""
    flags = [part.partition(b"=")[0].decode(errors="replace") for part in line]
    lost = [] if "--device" in flags else [b"--device=virtual:h200"]
    filters = [part.decode(errors="replace") for part in line if b"--benchmark_filter" in part]
    known = {flag for selection in _BENCH for flag in selection}
    short = bool(filters) and filters[-1] in known and not _SLOW & set(flags)
    return [*line, *lost, *([] if short else [b"--benchmark_list_tests"])]


def check(random: Random) -> Case:
    name = random.choices(["fit", "bench"], [3, 1])[0]
    if name == "fit":
        line = [part.encode() for part in question(random).arguments()]
    else:
        line = [part.encode() for part in _bench_line(random)]
    for _ in range(random.choices([1, 2, 3, 4], [8, 4, 2, 1])[0]):
        line = _mutated(random, line, _flags(name))
    if name == "bench":
        line = _kept_short(line)
    limits = _limits(name)
    ended = run([_program(name), *line], limits.seconds)
    typed = shlex.join([name, *(part.decode(errors="backslashreplace") for part in line)])
    answers = dict.fromkeys(_ANSWERS[name], f"{name} answered") | {2: f"{name} refused"}
    return limits.judge(ascii(typed)[1:-1][:600], ended, answers)


if __name__ == "__main__":
    sys.exit(program("commands", check))
