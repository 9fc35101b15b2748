"""Everything the report is made from, joined by row name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from vramfit_plots.accuracy.comparison import Accuracy, compare
from vramfit_plots.accuracy.spread import predicted
from vramfit_plots.article import Article, load_article
from vramfit_plots.catalogues import Card, Model, load_cards, load_models
from vramfit_plots.cells import Cell
from vramfit_plots.files import AbsentError, BadInputError
from vramfit_plots.history.runs import History, load_history
from vramfit_plots.quality import Quality, load_quality
from vramfit_plots.reference import (
    Reference,
    load_reference,
    ours_by_theirs,
    predicted_rows,
    theirs_by_ours,
)
from vramfit_plots.releases import Releases, load_releases
from vramfit_plots.rows import Strategy, family, strategy_of
from vramfit_plots.run import Run, beside, load_run, peak_stage
from vramfit_plots.schemas import read_json
from vramfit_plots.sources import (
    ARTICLE,
    COUNTED,
    MEASURED,
    OURS,
    THEIRS,
    TIMED,
    TORCH,
    Source,
    best_of_each_side,
)
from vramfit_plots.units import gb


@dataclass(frozen=True)
class Inputs:
    run: Run
    article: Article
    models: Mapping[str, Model]
    cards: Mapping[str, Card]
    reference: Reference
    rows: pd.DataFrame  # the run's, PyTorch's and the reference's counters by row name
    # A comparison with PyTorch on the same card, data/runs/…-compare.json, where there is one.
    comparison: Mapping[str, Any] | None = None
    accuracy: Accuracy | None = None  # of `fit` with PyTorch, where there is a `fit` to ask
    releases: Releases | None = None  # of PyTorch and transformers, as they were played
    history: History | None = None  # every kept run, where there are any
    quality: Quality | None = None  # of a model that was trained, where one was
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

    def speeds(self, row: str) -> dict[Source, float]:
        """Of those who were timed."""
        found = {source: Reading(self, row, source).tokens_per_second for source in TIMED}
        return {source: speed for source, speed in found.items() if speed}

    def names(self, *families: str) -> list[str]:
        """Of the rows of these families, whoever has figures of them."""
        return [name for name in self.rows.index if family(name) in families]

    def best(
        self,
        of: type["R"],
        row: str,
        *counters: str,
        among: Sequence[Sequence[Source]] = (OURS, THEIRS),
    ) -> list["R"]:
        """Of vramfit and of PyTorch each the first of its sources that has all these counters."""

        def ask(source: Source) -> "R | None":
            return of(self, row, source) if self.all_of(row, source, *counters) else None

        return best_of_each_side(ask, among)

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


@dataclass(frozen=True)
class Reading:
    """A row as one source has it. Counters are attributes, None where the source has none: what is
    written as `reading.allocated` may be measured or predicted, of vramfit or PyTorch. Topics add
    what they make of them."""

    inputs: Inputs = field(repr=False, compare=False)
    row: str
    source: Source

    def __getattr__(self, counter: str) -> float | None:
        if counter.startswith("_") or hasattr(type(self), counter):
            raise AttributeError(counter)
        return self.counter(counter)

    def counter(self, name: str) -> float | None:
        return self.inputs.of(self.row, self.source, name)

    @property
    def side(self) -> str:
        return self.source.side

    @cached_property
    def strategy(self) -> Strategy:
        return strategy_of(self.inputs.run.parse(self.row))

    @property
    def tokens_per_second(self) -> float | None:
        """vramfit's own has no prefix. None of what is only predicted."""
        if self.source not in TIMED:
            return None
        prefix = "" if self.source is MEASURED else self.source.prefix
        return self.inputs.value(self.row, f"{prefix}tokens_per_second") or None


R = TypeVar("R", bound=Reading)
_CARD = "h200"  # whose rules bench's predictions of PyTorch follow


def _rows(run: Run, reference: Reference, accuracy: Accuracy | None) -> pd.DataFrame:
    """The run's own counters win over others."""
    rows = run.rows.combine_first(reference.rows)
    if accuracy is None:
        return rows
    ours = ours_by_theirs(run.fact("pytorch_optimizers"))
    return rows.combine_first(predicted_rows(accuracy, ours))


def _with_pipelines(rows: pd.DataFrame, run: Run, article: Article, fit: Path) -> pd.DataFrame:
    """PyTorch's figures of the article's pipelines, where bench has none."""
    cells = [cell["row"] for row in article.multi_gpu["rows"] for cell in row["cells"]]
    counter = f"{TORCH.prefix}allocated"
    known = rows.reindex(index=cells, columns=[counter])[counter].notna()
    theirs = theirs_by_ours(run.fact("pytorch_optimizers"))
    unknown = [row for row in cells if not known[row]]
    return rows.combine_first(predicted(fit, unknown, theirs, _CARD))


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
    models = load_models(data / "models")
    reference = load_reference(data / "reference", models, run.fact("pytorch_optimizers"))
    accuracy = compare(fit, data) if fit else None
    trained = data / "quality" / "results.json"
    article, rows = load_article(data / "article"), _rows(run, reference, accuracy)
    return Inputs(
        run=run,
        article=article,
        models=models,
        cards=load_cards(data / "gpus.json"),
        reference=reference,
        rows=_with_pipelines(rows, run, article, fit) if fit else rows,
        comparison=read_json(comparison, "comparison") if comparison else None,
        accuracy=accuracy,
        releases=load_releases(data / "releases") if (data / "releases").is_dir() else None,
        history=load_history(kept) if kept else None,
        quality=load_quality(trained) if trained.exists() else None,
        source=source,
    )
