"""Predicted beside measured, for every case of data/reference."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from vramfit_plots.accuracy.cases import GENERATED, LOADED, Case, Recorded, load_cases
from vramfit_plots.accuracy.fit import Prediction, predict
from vramfit_plots.catalogues import Card, load_cards

PEAK_KINDS = {
    "peak": "peak allocated",
    "reserved": "peak reserved",
    "device_used": "peak device used",
}
BY_STAGE = "allocated by stage"
ALLOCATED = ("after", "peak")
LARGEST = "largest batch"
KINDS = (PEAK_KINDS["peak"], BY_STAGE, PEAK_KINDS["reserved"], PEAK_KINDS["device_used"], LARGEST)


@dataclass(frozen=True)
class Accuracy:
    program: Path
    cases: Sequence[Case]
    predictions: Sequence[Prediction]
    # One figure a line: source, case (its number), kind, stage, level, predicted, measured, error.
    figures: pd.DataFrame
    recorded: Recorded  # all that was measured, also what is not asked
    cards: Mapping[str, Card]  # to judge verdicts on

    def errors(self, kind: str, source: str | None = None) -> pd.Series:
        """Every error of the kind; where `source` is given, those of that file."""
        chosen = self.figures["kind"] == kind
        if source is not None:
            chosen &= self.figures["source"] == source
        return self.figures.loc[chosen, "error"]

    @property
    def environment(self) -> str:
        """What was measured with, in words."""
        return self.recorded.environment

    def measured_on(self, case: Case) -> Card:
        return self.cards[self.recorded.environments[case.source].card(self.cards)]

    @property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(case.source for case in self.cases))


def _figures(case: Case, prediction: Prediction) -> Iterator[dict[str, Any]]:
    if case.max_batch is not None:
        yield {"kind": LARGEST, "predicted": prediction.max_batch, "measured": case.max_batch}
        return
    for level, kind in PEAK_KINDS.items():
        if level in case.peak:
            yield {
                "kind": kind,
                "level": level,
                "predicted": prediction.peak[level],
                "measured": case.peak[level],
            }
    for stage, measured in case.stages.items():
        for level, value in measured.items():
            # A generation is read once, when it is over and its memory freed. The peak while
            # loading is that of drawing random weights.
            if (stage, level) in {(GENERATED, "after"), (LOADED, "peak")}:
                continue
            yield {
                "kind": BY_STAGE if level in ALLOCATED else "",
                "stage": stage,
                "level": level,
                "predicted": prediction.stages[stage][level],
                "measured": value,
            }


def compare(
    program: Path, data: Path, reference: Path | None = None, *, several_gpus: bool = False
) -> Accuracy:
    """`program` is build/fit, `data` the project's data folder, `reference` the file or folder of
    cases: data/reference unless given. Throws BadInputError."""
    recorded = load_cases(reference or data / "reference", several_gpus=several_gpus)
    cards = load_cards(data / "gpus.json")
    cases = recorded.askable
    names = {source: env.card(cards) for source, env in recorded.environments.items()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        predictions = list(pool.map(lambda case: predict(program, case, names[case.source]), cases))
    figures = pd.DataFrame(
        {"source": case.source, "case": number, **figure}
        for number, (case, prediction) in enumerate(zip(cases, predictions, strict=True))
        for figure in _figures(case, prediction)
    )
    figures["error"] = figures["predicted"] / figures["measured"] - 1
    return Accuracy(program, cases, predictions, figures, recorded, cards)
