"""The accuracy of predictions as tables: in all, beside the formulas, by case and by stage."""

from typing import Any

import pandas as pd

from vramfit_plots.accuracy.bounds import BOUNDS
from vramfit_plots.accuracy.comparison import KINDS, LARGEST, PEAK_KINDS, Accuracy
from vramfit_plots.accuracy.rivals import Score, ours, rivals, with_peak
from vramfit_plots.accuracy.verdicts import CARDS
from vramfit_plots.captions import Caption
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MINUS, MISSING, gb, number, percent

COMMAND = "make accuracy"


SIGNATURE = "vramfit: fit --runtime pytorch"


def caption(note: str) -> Caption:
    return Caption(note, COMMAND)


def _error(value: float) -> str:
    return MISSING if pd.isna(value) else percent(value, 2)


def _spread(errors: pd.Series) -> list[str]:
    """The median absolute error, the worst, and the lowest."""
    worst = errors.loc[errors.abs().idxmax()]
    return [percent(errors.abs().median(), 2, signed=False), _error(worst), _error(errors.min())]


def _verdict(kind: str, errors: pd.Series) -> list[str]:
    """The bound on this kind of figure, and whether it is met."""
    bounds = [bound for bound in BOUNDS if bound.figure == kind]
    missed = [bound.words for bound in bounds if not bound.kept(errors)]
    asked = "; ".join(bound.text for bound in bounds)
    return [asked, f"not the {', '.join(missed)}" if missed else "yes"]


def _in_all(comparison: Accuracy) -> Table:
    rows = []
    for kind in KINDS:
        for source in comparison.sources:
            errors = comparison.errors(kind, source)
            if not errors.empty:
                counted = [number(len(errors)), number((errors == 0).sum()), *_spread(errors)]
                rows.append([f"{kind}\n{source}", *counted, *_verdict(kind, errors)])
    return Table(
        key="accuracy",
        title="What PyTorch takes: how near the predictions come",
        headings=[
            "figure",
            "how many",
            "equal",
            "median error",
            "worst",
            "lowest",
            "asked for",
            "met",
        ],
        rows=rows,
        caption=caption(
            f"An error is predicted / measured {MINUS} 1. Peaks are over all steps; figures by "
            "stage are what is allocated when a stage ends, and the peak in it.",
        ),
        text_columns=frozenset({6, 7}),
    )


def _scored(score: Score) -> list[str]:
    median, worst, _ = _spread(score.errors)
    wrong = [number(score.wrong.get(card, 0)) for card in CARDS]
    return [median, worst, *wrong, f"{score.all_wrong} of {score.cases * len(CARDS)}"]


def _beside_formulas(comparison: Accuracy) -> Table:
    every = with_peak(comparison)
    rows = [["vramfit", number(len(every)), *_scored(ours(comparison, every))]]
    for rival in rivals(comparison):
        count = number(rival.theirs.cases)
        name = f"{rival.formula.name}\n{rival.formula.form}"
        rows.append([name, count, *_scored(rival.theirs)])
        rows.append(["vramfit\non the same cases", count, *_scored(rival.ours)])
    sources = "; ".join(
        f"{rival.formula.name}: {rival.formula.source}" for rival in rivals(comparison)
    )
    sizes = [f"{number(comparison.cards[card].vram / 2**30)} GiB\n{card}" for card in CARDS]
    return Table(
        key="accuracy_formulas",
        title="Beside the formulas that people use",
        headings=["by", "cases", "median error", "worst", *sizes, "wrong verdicts"],
        rows=rows,
        caption=caption(
            "Errors are of the peak allocated. The columns of cards count the cases of which FITS "
            "or OOM is wrong for the card; the truth is what the measured card lost, driver "
            f"included. Where the formulas are from: {sources}.",
        ),
    )


def _three(one: Any) -> list[str]:
    """Predicted and measured in GB, and the error."""
    if one is None:
        return [MISSING, MISSING, MISSING]
    return [gb(one.predicted, 3), gb(one.measured, 3), _error(one.error)]


def _three_headings(level: str) -> list[str]:
    return [f"{level}\n{what}" for what in ("predicted, GB", "measured, GB", "error")]


_LEVELS = {
    "after": "allocated after",
    "peak": "peak allocated",
    "reserved": "reserved",
    "device_used": "device used",
}


def _rows_by_case(comparison: Accuracy) -> list[list[str]]:
    figures = comparison.figures
    peaks = figures[figures["kind"].isin(PEAK_KINDS.values())]
    found = {(one.case, one.level): one for one in peaks.itertuples()}
    return [
        [
            comparison.cases[i].title,
            *(part for level in PEAK_KINDS for part in _three(found.get((i, level)))),
        ]
        for i in with_peak(comparison)
    ]


def _case_headings() -> list[str]:
    return ["case", *(part for level in PEAK_KINDS for part in _three_headings(_LEVELS[level]))]


def _by_case(comparison: Accuracy) -> Table:
    return Table(
        key="accuracy_cases",
        title="Every measured case",
        headings=_case_headings(),
        rows=_rows_by_case(comparison),
        caption=caption("Peaks over all steps."),
        long=True,
    )


def of_several_gpus(comparison: Accuracy) -> Table:
    return Table(
        key="accuracy_gpus",
        title="On several GPUs: what each takes",
        headings=_case_headings(),
        rows=_rows_by_case(comparison),
        caption=caption("Peaks over all steps, of the first GPU. Batch and tokens are each GPU's."),
    )


def _by_stage(comparison: Accuracy) -> Table:
    figures = comparison.figures[comparison.figures["stage"].notna()]
    found = {(one.case, one.stage, one.level): one for one in figures.itertuples()}
    rows = [
        [
            f"{comparison.cases[i].title}\n{stage}",
            *(part for level in _LEVELS for part in _three(found.get((i, stage, level)))),
        ]
        for i, stage in dict.fromkeys((case, stage) for case, stage, _ in found)
    ]
    headings = [part for level in _LEVELS.values() for part in _three_headings(level)]
    return Table(
        key="accuracy_stages",
        title="Every measured case, stage by stage",
        headings=["case and stage", *headings],
        rows=rows,
        caption=caption("What is allocated when a stage ends, and the peaks in it."),
        long=True,
    )


def _largest_batches(comparison: Accuracy) -> Table:
    figures = comparison.figures
    rows = [
        [comparison.cases[one.case].title, number(one.predicted), number(one.measured)]
        for one in figures[figures["kind"] == LARGEST].itertuples()
    ]
    return Table(
        key="accuracy_max_batch",
        title="The largest batch",
        headings=["case", "predicted", "measured"],
        rows=rows,
        caption=caption("The cap in a case's name is on what PyTorch's allocator holds."),
    )


def build(comparison: Accuracy) -> list[Table]:
    parts = (_in_all, _beside_formulas, _largest_batches, _by_case, _by_stage)
    return [table for part in parts if (table := part(comparison)).rows]
