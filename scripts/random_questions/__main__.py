"""make questions: random questions of every type that `fit` answers, and what PyTorch takes for
them on the stand-in.

Writes what was played, a file for each card, into --out, and there questions.jsonl, which is
data/questions.jsonl once it is committed. Fails where fewer than 95 % of the answers are equal to
the byte, or one is off by more than 0.3 % of what is allocated or 1 % of what is reserved; or where
fewer than half of what runs under PyTorch is answered, or fewer than half runs.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from programs import (
    ROOT,
    Arguments,
    BadInputError,
    file_or_folder,
    program,
    read_jsonl,
    require_made,
    writing,
)

from random_questions.answers import FIT, answer
from random_questions.comparison import Line, compared, kept, reasons, summed, told

_PLAY = Path(__file__).resolve().parent / "play.py"
_PACKAGE = ROOT / "build" / "python"
_CARDS = ("h200", "rtx4090", "a100-80gb", "rtx5090", "l4")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(
        prog="make questions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    python = ROOT / "build" / "exact" / "bin" / "python"
    parser.add_argument("--python", type=Path, default=python, help="that has torch")
    parser.add_argument("--release", default="", help="its PyTorch, where not the measured one")
    parser.add_argument("--count", type=int, default=300, help="how many questions")
    parser.add_argument("--seed", default="1", help="another draws other questions")
    parser.add_argument("--types", default="", help="of these alone, with spaces between them")
    parser.add_argument("--played", action="store_true", help="as played before; plays nothing")
    parser.add_argument("--kept", action="store_true", help="data/questions.jsonl; plays nothing")
    parser.add_argument(
        "--out", type=file_or_folder, default=ROOT / "build" / "questions", help="a folder"
    )
    return parser.parse_args(argv)


def _play_on(given: argparse.Namespace, card: str) -> None:
    """Those whose turn it is: cards take turns, as types do."""
    numbers = map(str, (_CARDS.index(card), given.count, len(_CARDS)))
    player = [given.python, _PLAY, given.seed, *numbers, _file(given, card)]
    dry = ["-m", "vramfit", "run", "--gpu", card, "--steps", str(10 * given.count), "--json", "-"]
    dry.append("--random-weights")  # of checkpoints that are read quantised
    run = subprocess.run(
        [sys.executable, *dry, "--", *player, *given.types.split()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(_PACKAGE)},
    )
    if run.returncode != 0:
        raise BadInputError(f"play.py: ended with {run.returncode}: {run.stderr[-2000:]}")


def _play(given: argparse.Namespace) -> None:
    require_made({given.python: "exact", _PACKAGE / "vramfit": "wheel"})
    with writing():
        given.out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as several:
        for _ in several.map(lambda card: _play_on(given, card), _CARDS[: given.count]):
            pass


def _file(given: argparse.Namespace, card: str) -> Path:
    """What was played on it."""
    return Path(given.out, f"played.{card}.jsonl")


def _answer(given: argparse.Namespace) -> list[Line]:
    require_made({FIT: "build"})
    lines = [
        compared(played, answer(played, card, given.release), card)
        for card in _CARDS[: given.count]
        for played in read_jsonl(_file(given, card))
    ]
    with writing():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (given.out / "questions.jsonl").write_text(text, encoding="utf-8")
    return lines


@program("questions")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    if not given.kept and not given.played:
        _play(given)
    lines = kept() if given.kept else _answer(given)
    print("\n".join([*filter(None, map(told, lines)), *reasons(lines)]))
    total = summed(lines)
    print(total)
    return 0 if total.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
