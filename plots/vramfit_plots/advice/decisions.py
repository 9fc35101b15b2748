"""The article's decision tree, computed: what `fit --advise` says first, by model and card."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vramfit_plots.accuracy.fit import ask
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import TIMES, number

CARDS = {"24 GB": "rtx4090", "40 GB": "a100-40gb", "48 GB": "rtx6000-ada", "80 GB": "h100-80gb"}
_TRAINING = ["--train", "--precision", "bf16", "--batch", "4", "--seq", "512"]
_GENERATION = ["--precision", "bf16", "--batch", "1", "--seq", "2048", "--generate", "128"]
QUESTIONS = {
    **{f"generate, {model}": ["--model", model, *_GENERATION]
       for model in ("llama2-7b", "llama2-13b", "llama3-70b")},
    **{f"train, {model}": ["--model", model, *_TRAINING]
       for model in ("tinyllama-1.1b", "llama2-7b", "llama2-13b", "llama3-70b")},
}  # fmt: skip


def decision(answer: dict[str, Any]) -> str:
    if answer["verdict"] != "OOM":
        return "as it is" + (", TIGHT" if answer["verdict"] == "TIGHT" else "")
    ways = [*answer["advice"], *answer["on_several_gpus"]]
    if not ways:
        return "not on one"
    first = ways[0]
    slowdown = first["slowdown"]
    time = f"{number(slowdown, 2)} {TIMES}" if slowdown else "not measured"
    tight = ", TIGHT" if first["verdict"] == "TIGHT" else ""
    return f"{', '.join(first['changes'])}\n{time}{tight}"


def table(program: Path) -> Table:
    def told(card: str) -> Callable[[tuple[str, list[str]]], str]:
        def entry(question: tuple[str, list[str]]) -> str:
            name, typed = question
            return decision(ask(program, [*typed, "--gpu", card, "--advise"], name))

        return entry

    cards = [Column(f"{size}\n{card}", told(card), text=True) for size, card in CARDS.items()]
    columns = [Column("", lambda question: question[0]), *cards]
    return listing("decisions", columns, QUESTIONS.items())
