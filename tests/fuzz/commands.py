"""Mutated command lines of `fit` and `bench`: they end in an answer or in one line of refusal.

commands.py [COUNT [FIRST_SEED]]
"""

import os
import shlex
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

NASTY = [
    "", " ", "0", "-0", "-1", "1", "2", "7", "0.5", "1.5", "1e3", "1e400", "-1e400", "1e-400", "NaN", "nan",
    "inf", "-inf", "0x10", "٣", "²", "1_000", "1,000", "+1", " 1", "1 ", "--", "-", "=", "null", "true",
    "65535", "65536", "65537", "2147483647", "2147483648", "4294967296", "9223372036854775807",
    "9223372036854775808", "18446744073709551615", "18446744073709551616", "9" * 30, "9" * 400,
    "24GB", "0GB", "-24GB", "1e9GB", "24XB", "24 GB", "GB", "24GiBB", "1e400GB", "99999999999GB", "1B",
    "7B", "1K", "0B", "1T", "99999999T", "fp32", "fp64", "int8", "bf16,fp16", ",", ",,", "a,b", "all-linear",
    "llama2-7b", "llama2-7b,gpt2-124m", "LLAMA2-7B", "rtx4090", "h200", "virtual:h200", "cpu", "cuda:99",
    "../../etc/passwd", "/", ".", "..", "/dev/null", "/dev/full", "/nowhere/x", "~", "*", "$(id)", "%s%n", "\\",
    "[", "(", "a{999999999}", "(((((((((((((((((((((", ".*", "^$", "\a", "\x1b[31mred", "a\nb", "a\tb", "\r",
    "\x7f", "é", "名前", "\U0001f600", "\u202e", "\u2028", "x" * 300, "x" * 20000,
]  # fmt: skip
BYTES = [b"\xff", b"\xc3", b"a\xed\xa0\x80b", b"\xc0\x80", b"\xf5\x80\x80\x80"]

FIT_FLAGS = [
    "--model", "--config", "--params", "--hidden", "--layers", "--train", "--runtime", "--precision",
    "--batch", "--seq", "--optimizer", "--accumulate", "--generate", "--attention", "--autocast",
    "--checkpoint", "--lora", "--lora-targets", "--padded", "--gpus", "--strategy", "--gpu", "--vram",
    "--headroom", "--max-batch", "--max-seq", "--json", "--list", "--help", "--version",
]  # fmt: skip
BENCH_FLAGS = [
    "--sweep", "--device", "--config", "--vram", "--speed-seconds", "--tf32", "--profile", "--model",
    "--precision", "--optimizer", "--batch", "--seq", "--attention", "--accumulate", "--generate", "--gpu",
    "--benchmark_filter", "--benchmark_min_time", "--benchmark_min_warmup_time",
    "--benchmark_repetitions", "--benchmark_format", "--benchmark_out_format", "--benchmark_color",
    "--benchmark_counters_tabular", "--benchmark_context", "--benchmark_time_unit", "--v",
    "--benchmark_enable_random_interleaving", "--benchmark_report_aggregates_only", "--article-printout",
]  # fmt: skip
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
    return random.choice(
        [
            text[:at] + text[at + 1 :],
            text[:at] + b"e" + text[at:],
            text[:at],
            text.upper(),
            text + b"=",
        ]
    )


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
    for _ in range(random.randint(1, 4)):
        line = _mutated(random, line, FIT_FLAGS if name == "fit" else BENCH_FLAGS)
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
