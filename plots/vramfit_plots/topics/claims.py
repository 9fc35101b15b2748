"""What the article says outside its tables, each claim with its answer or why there is none.

claims.json has a row for each claim that figures answer: which function has a figure of each
source, how one is written, when the claim holds by it, and what is remarked; or which function
answers."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vramfit_plots.files import AbsentError, read_json
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import COUNTED
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.topics import claims_one_gpu, claims_several_gpus
from vramfit_plots.topics.claims_asked import Answer, Asked, Figures, judge
from vramfit_plots.words import computed, filled

ROWS: dict[str, dict[str, str]] = read_json(Path(__file__).with_suffix(".json"))
FIGURES: Mapping[str, Callable[[Asked], Figures]] = claims_one_gpu.FIGURES
ANSWERS: Mapping[str, Callable[[Asked], Answer]] = {
    **claims_one_gpu.ANSWERS,
    **claims_several_gpus.ANSWERS,
}


def _judged(asked: Asked, figures: str, form: str, holds: str, remark: str = "") -> Answer:
    """Throws AbsentError where there is no figure to judge by."""
    found = FIGURES[figures](asked)
    if not found:
        raise AbsentError("a row that answers it")
    about: dict[str, Any] = {"asked": asked, "claim": asked.claim, "figures": found}
    about |= claims_one_gpu.REMARKS
    word = judge(found, lambda value: computed(holds, {**about, "value": value}))
    texts = {source: filled(form, {**about, "value": value}) for source, value in found.items()}
    said = filled(remark, about)
    return Answer(texts, f"{word}: {said}." if said else f"{word}.")


def answer(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    if "reply" in claim:
        return Answer({}, claim["reply"])
    row, asked = ROWS[claim["id"]], Asked(inputs, claim)
    try:
        return ANSWERS[row["answer"]](asked) if "answer" in row else _judged(asked, **row)
    except AbsentError as missing:
        return Answer({}, f"This run cannot tell: it does not hold {missing}.")


def build(inputs: Inputs) -> list[Table]:
    answered = [(claim["text"], answer(inputs, claim)) for claim in inputs.article.claims]
    columns = [
        Column("the article says", lambda line: line[0], text=True),
        Column("verdict", lambda line: line[1].verdict, text=True),
        *(
            Column(source.heading, lambda line, source=source: line[1].figures.get(source))
            for source in COUNTED
            if any(source in one.figures for _, one in answered)
        ),
    ]
    return [listing("claims", columns, answered)]
