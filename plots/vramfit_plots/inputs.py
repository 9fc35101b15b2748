"""Everything the report is made from, joined by row name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from vramfit_plots.accuracy.comparison import Accuracy, compare
from vramfit_plots.article import Article, load_article
from vramfit_plots.cards import Card, load_cards
from vramfit_plots.cells import Cell
from vramfit_plots.comparison import Comparison, load_comparison
from vramfit_plots.errors import AbsentError, BadInputError
from vramfit_plots.history.runs import History, load_history
from vramfit_plots.models import Model, load_models
from vramfit_plots.pytorch_rows import ours_by_theirs, predicted_rows
from vramfit_plots.reference import Reference, load_reference
from vramfit_plots.run import Run, beside, load_run, peak_stage
from vramfit_plots.sources import ARTICLE, COUNTED, MEASURED, TIMED, TORCH_MEASURED, Source
from vramfit_plots.units import gb


@dataclass(frozen=True)
class Inputs:
    run: Run
    article: Article
    models: Mapping[str, Model]
    cards: Mapping[str, Card]
    reference: Reference
    rows: pd.DataFrame  # the run's, PyTorch's and the reference's counters by row name
    comparison: Comparison | None = None  # with PyTorch on the same card, where there is one
    accuracy: Accuracy | None = None  # of `fit` with PyTorch, where there is a `fit` to ask
    history: History | None = None  # every kept run, where there are any
    source: Source = MEASURED  # whose figures stand in the article's own tables

    def value(self, row: str | None, counter: str) -> float | None:
        """A counter; None where the run does not hold the row or the counter."""
        if row not in self.rows.index or counter not in self.rows.columns:
            return None
        value = self.rows.at[row, counter]
        return None if pd.isna(value) else float(value)

    def of(self, row: str | None, source: Source, counter: str) -> float | None:
        """A source's own."""
        return self.value(row, source.prefix + counter)

    def all_of(self, row: str, source: Source, *counters: str) -> list[float] | None:
        """None where the source lacks one."""
        found = [self.of(row, source, counter) for counter in counters]
        known = [value for value in found if value is not None]
        return known if len(known) == len(found) else None

    def speed(self, row: str, source: Source) -> float | None:
        """Tokens a second; vramfit's own has no prefix. None of what is only predicted."""
        prefix = {MEASURED: "", TORCH_MEASURED: source.prefix}
        found = self.value(row, f"{prefix[source]}tokens_per_second") if source in prefix else None
        return found or None

    def speeds(self, row: str) -> dict[Source, float]:
        """Of those who were timed."""
        found = {source: self.speed(row, source) for source in TIMED}
        return {source: speed for source, speed in found.items() if speed}

    def need(self, row: str, counter: str) -> float:
        """A counter that what follows cannot do without."""
        value = self.value(row, counter)
        if value is None:
            raise AbsentError(f"{row}: {counter}" if row in self.rows.index else row)
        return value

    def divisor(self, row: str, counter: str) -> float:
        """The same, and what follows divides by it."""
        value = self.need(row, counter)
        if not value:
            raise BadInputError(f"{self.run.path}: {row}: {counter}: is 0")
        return value

    def peak_stage(self, row: str) -> str:
        """Where the row's peak is: "backward of step 2"."""
        return peak_stage(self.run.rows.at[row, "label"]) if row in self.run.rows.index else ""

    def cell(
        self,
        row: str | None,
        counter: str,
        article: float | str | None = None,
        form: Callable[[float], str] = gb,
        entry: Mapping[str, Any] | None = None,
    ) -> Cell:
        """The article's figure beside every source's `counter` of `row`. `entry` is where the
        article's data has it: a source that has no figure of `row` gives that of the row `near` it,
        with a note of what is other there; `whose` is a note for each side, of what its figures are
        of, which goes before; `needs` is what no source can give one without."""
        near, needs = (entry or {}).get("near"), (entry or {}).get("needs")
        whose = (entry or {}).get("whose", {})
        figures: dict[str, float | str | None] = {ARTICLE.key: article}
        notes = {source.key: whose[source.side] for source in COUNTED if source.side in whose}
        for source in COUNTED:
            figures[source.key] = self.value(row, source.prefix + counter)
            if figures[source.key] is None and near is not None:
                figures[source.key] = self.value(near["row"], source.prefix + counter)
                notes.setdefault(source.key, near["as"])
        missing = f"Neither measured nor predicted: {needs}" if needs else ""
        return Cell(figures, form, notes, missing)


def _rows(run: Run, reference: Reference, accuracy: Accuracy | None) -> pd.DataFrame:
    """The run's own counters win over others."""
    rows = run.rows.combine_first(reference.rows)
    if accuracy is None:
        return rows
    ours = ours_by_theirs(run.fact("pytorch_optimizers"))
    return rows.combine_first(predicted_rows(accuracy, ours))


def load_inputs(
    run_path: Path,
    data: Path,
    measured: Path | None = None,
    *,
    comparison: Path | None = None,
    fit: Path | None = None,
    kept: Path | None = None,
    source: Source = MEASURED,
) -> Inputs:
    """`measured` is a run on a GPU, to be set beside the other; `comparison` one with PyTorch on
    the same card; `fit` the program to hold against PyTorch; `kept` the folder of kept runs. Throws
    BadInputError that names the file or folder where something is not as it should be."""
    run = load_run(run_path)
    if measured is not None:
        run = beside(load_run(measured), run)
    compared = load_comparison(comparison) if comparison else None
    models = load_models(data / "models")
    reference = load_reference(data / "reference", models, run.fact("pytorch_optimizers"))
    accuracy = compare(fit, data) if fit else None
    return Inputs(
        run=run,
        article=load_article(data / "article"),
        models=models,
        cards=load_cards(data / "gpus.json"),
        reference=reference,
        rows=_rows(run, reference, accuracy),
        comparison=compared,
        accuracy=accuracy,
        history=load_history(kept) if kept else None,
        source=source,
    )
