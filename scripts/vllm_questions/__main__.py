"""make vllm-questions: random starts of vLLM on the stand-in, and what `fit` answers to them.

Writes what came of each into --out, which is data/reference/vllm/random.jsonl once it is committed.
Fails where fewer than 95 % of the answers are right: blocks within 0.3 %, or a start that both
refuse. A start that ended without either is left out; more than 5 % of such are a failure, too.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
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

from vllm_questions.answers import FIT, answer, is_right, told
from vllm_questions.dice import CARDS

_PLAY = Path(__file__).resolve().parent / "play.py"
_PACKAGE = ROOT / "build" / "python"
_KEPT = ROOT / "data" / "reference" / "vllm" / "random.jsonl"
_RIGHT = 0.95


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(
        prog="make vllm-questions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    python = os.environ.get("VRAMFIT_VLLM", "")
    parser.add_argument("--python", type=Path, default=python, help="that has vLLM 0.26")
    parser.add_argument("--count", type=int, default=200, help="how many starts")
    parser.add_argument("--seed", default="1", help="another draws other starts")
    parser.add_argument("--kept", action="store_true", help="random.jsonl; starts nothing")
    parser.add_argument("--out", type=file_or_folder, default=ROOT / "build" / "vllm.jsonl")
    return parser.parse_args(argv)


def _play(given: argparse.Namespace) -> None:
    """Card after card, as each has a process of its own."""
    require_made({given.python: "exact", _PACKAGE / "vramfit": "wheel"})
    with writing():
        given.out.write_text("", encoding="utf-8")
    for first, card in enumerate(CARDS):
        numbers = map(str, (first, given.count, len(CARDS)))
        dry = [sys.executable, "-m", "vramfit", "run", "--gpu", card, "--gpus", "2"]
        dry += ["--json", "-", "--"]
        ran = subprocess.run(
            [*dry, given.python, _PLAY, given.seed, *numbers, card, given.out],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(_PACKAGE)},
        )
        if ran.returncode != 0:
            raise BadInputError(f"play.py: ended with {ran.returncode}: {ran.stderr[-2000:]}")


@program("vllm_questions")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    if not given.kept:
        _play(given)
    require_made({FIT: "build"})
    played = list(read_jsonl(_KEPT if given.kept else given.out))
    lines = [line for line in played if "failed" not in line]
    if len(lines) < _RIGHT * len(played):
        raise BadInputError(f"play.py: {len(played) - len(lines)} of {len(played)} ended silently")
    answers = [answer(line) for line in lines]
    pairs = list(zip(lines, answers, strict=True))
    wrong = [told(*pair) for pair in pairs if not is_right(*pair)]
    print("\n".join([*wrong, f"{len(pairs) - len(wrong)} of {len(pairs)} right"]))
    return 0 if len(wrong) <= (1 - _RIGHT) * len(pairs) else 1


if __name__ == "__main__":
    sys.exit(main())
