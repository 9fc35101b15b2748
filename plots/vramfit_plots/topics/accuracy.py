"""The accuracy of predictions of PyTorch: in all, beside the formulas, by case and by stage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from vramfit_plots.accuracy.bounds import BOUNDS
from vramfit_plots.accuracy.comparison import KINDS, LARGEST, PEAK_KINDS, Accuracy
from vramfit_plots.accuracy.rivals import CARDS, Rival, Score, ours, rivals, with_peak
from vramfit_plots.captions import Caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.units import GB, MINUS, gb, number, percent, share

_COMMAND = "make accuracy"
_SIGNATURE = "vramfit: fit --runtime pytorch"
_LEVELS = {
    "after": "allocated after",
    "peak": "peak allocated",
    "reserved": "reserved",
    "device_used": "device used",
}
_TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)
_MARGIN = 1.25


def _error(value: float) -> str | None:
    return None if pd.isna(value) else percent(value, 2)


def _median(errors: pd.Series) -> str:
    return share(errors.abs().median(), 2)


def _worst(errors: pd.Series) -> str | None:
    return _error(errors.loc[errors.abs().idxmax()])


@dataclass(frozen=True)
class _Kind:
    """Errors of one kind of figure in one file."""

    kind: str
    source: str
    errors: pd.Series

    @property
    def asked(self) -> str:
        return "; ".join(bound.text for bound in BOUNDS if bound.figure == self.kind)

    @property
    def met(self) -> str:
        bounds = [bound for bound in BOUNDS if bound.figure == self.kind]
        missed = [bound.words for bound in bounds if not bound.kept(self.errors)]
        return f"not the {', '.join(missed)}" if missed else "yes"


_IN_ALL = (
    Column("figure", lambda one: f"{one.kind}\n{one.source}"),
    Column("how many", lambda one: len(one.errors), number),
    Column("equal", lambda one: (one.errors == 0).sum(), number),
    Column("median error", lambda one: _median(one.errors)),
    Column("worst", lambda one: _worst(one.errors)),
    Column("lowest", lambda one: _error(one.errors.min())),
    Column("asked for", "asked", text=True),
    Column("met", "met", text=True),
)


def _in_all(comparison: Accuracy) -> Table:
    every = [
        _Kind(kind, source, comparison.errors(kind, source))
        for kind in KINDS
        for source in comparison.sources
    ]
    below = Caption(
        f"An error is predicted / measured {MINUS} 1. Peaks are over all steps; figures by stage "
        "are what is allocated when a stage ends, and the peak in it.",
        _COMMAND,
    )
    title = "What PyTorch takes: how near the predictions come"
    return listing("accuracy", title, _IN_ALL, [o for o in every if not o.errors.empty], below)


def _beside_formulas(comparison: Accuracy) -> Table:
    every, found = with_peak(comparison), rivals(comparison)
    scores = [("vramfit", ours(comparison, every))]
    for rival in found:
        scores.append((f"{rival.formula.name}\n{rival.formula.form}", rival.theirs))
        scores.append(("vramfit\non the same cases", rival.ours))

    def of(form: Callable[[Score], Any]) -> Callable[[tuple[str, Score]], Any]:
        return lambda line: form(line[1])

    columns = [
        Column("by", lambda line: line[0]),
        Column("cases", of(lambda score: score.cases), number),
        Column("median error", of(lambda score: _median(score.errors))),
        Column("worst", of(lambda score: _worst(score.errors))),
        *(
            Column(
                f"{number(comparison.cards[card].vram / 2**30)} GiB\n{card}",
                of(lambda score, card=card: score.wrong.get(card, 0)),
                number,
            )
            for card in CARDS
        ),
        Column("wrong verdicts", of(lambda s: f"{s.all_wrong} of {s.cases * len(CARDS)}")),
    ]
    sources = "; ".join(f"{rival.formula.name}: {rival.formula.source}" for rival in found)
    below = Caption(
        "Errors are of the peak allocated. The columns of cards count the cases of which FITS or "
        "OOM is wrong for the card; the truth is what the measured card lost, driver included. "
        f"Where the formulas are from: {sources}.",
        _COMMAND,
    )
    title = "Beside the formulas that people use"
    return listing("accuracy_formulas", title, columns, scores, below)


def _three(level: str) -> list[Column]:
    """Predicted and measured in GB, and the error, of a line's figures by level."""

    def column(what: str, key: str, form: Callable[..., str | None], *decimals: int) -> Column:
        def entry(line: tuple[str, Mapping[str, Any]]) -> str | None:
            found = line[1].get(level)
            return None if found is None else form(getattr(found, key), *decimals)

        return Column(f"{_LEVELS[level]}\n{what}", entry)

    return [
        column("predicted, GB", "predicted", gb, 3),
        column("measured, GB", "measured", gb, 3),
        column("error", "error", _error),
    ]


def _cases(comparison: Accuracy, key: str, title: str, note: str, *, long: bool = False) -> Table:
    figures = comparison.figures
    peaks = figures[figures["kind"].isin(PEAK_KINDS.values())]
    by_case = {i: (comparison.cases[i].title, {}) for i in with_peak(comparison)}
    for one in peaks.itertuples():
        by_case[one.case][1][one.level] = one
    columns = [
        Column("case", lambda line: line[0]),
        *(column for level in PEAK_KINDS for column in _three(level)),
    ]
    below = Caption(f"Peaks over all steps{note}", _COMMAND)
    return listing(key, title, columns, by_case.values(), below, long=long)


def of_several_gpus(comparison: Accuracy) -> Table:
    note = ", of the first GPU. Batch and tokens are each GPU's."
    return _cases(comparison, "accuracy_gpus", "On several GPUs: what each takes", note)


def _by_stage(comparison: Accuracy) -> Table:
    figures = comparison.figures[comparison.figures["stage"].notna()]
    by_stage: dict[tuple[int, str], tuple[str, dict[str, Any]]] = {}
    for one in figures.itertuples():
        head = f"{comparison.cases[one.case].title}\n{one.stage}"
        by_stage.setdefault((one.case, one.stage), (head, {}))[1][one.level] = one
    columns = [
        Column("case and stage", lambda line: line[0]),
        *(column for level in _LEVELS for column in _three(level)),
    ]
    below = Caption("What is allocated when a stage ends, and the peaks in it.", _COMMAND)
    title, lines = "Every measured case, stage by stage", by_stage.values()
    return listing("accuracy_stages", title, columns, lines, below, long=True)


def _largest_batches(comparison: Accuracy) -> Table:
    columns = (
        Column("case", lambda one: comparison.cases[one.case].title),
        Column("predicted", "predicted", number),
        Column("measured", "measured", number),
    )
    figures = comparison.figures
    largest = figures[figures["kind"] == LARGEST].itertuples()
    below = Caption("The cap in a case's name is on what PyTorch's allocator holds.", _COMMAND)
    return listing("accuracy_max_batch", "The largest batch", columns, largest, below)


def tables(comparison: Accuracy) -> list[Table]:
    built = [
        _in_all(comparison),
        _beside_formulas(comparison),
        _largest_batches(comparison),
        _cases(comparison, "accuracy_cases", "Every measured case", ".", long=True),
        _by_stage(comparison),
    ]
    return [table for table in built if table.rows]


def _asked(inputs: Inputs) -> Accuracy:
    if inputs.accuracy is None:
        raise AbsentError("predictions of PyTorch: --fit names the program")
    return inputs.accuracy


def build(inputs: Inputs) -> list[Table]:
    return tables(_asked(inputs))


def _scatter(axes: Axes, comparison: Accuracy, said: Mapping[int, float], **how: Any) -> None:
    measured = [comparison.cases[i].peak["peak"] / GB for i in said]
    axes.plot(measured, [value / GB for value in said.values()], linestyle="none", **how)


def _scales(axes: Axes, low: float, high: float) -> None:
    for axis, limits in ((axes.xaxis, axes.set_xlim), (axes.yaxis, axes.set_ylim)):
        limits(low, high)
        axis.set_major_locator(FixedLocator([tick for tick in _TICKS if low <= tick <= high]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.grid()


def _label(name: str, errors: pd.Series, decimals: int) -> str:
    return f"{name}: median error {share(errors.abs().median(), decimals)}"


def _finding(comparison: Accuracy, every: Sequence[Rival]) -> str:
    worst = share(comparison.errors("peak allocated").abs().max(), 2)
    own = f"vramfit predicts PyTorch's peak to {worst} at worst"
    if not every:
        return own
    medians = [rival.theirs.errors.abs().median() for rival in every]
    span = f"{number(100 * min(medians))} to {share(max(medians), 0)}"
    return f"{own}; formulas are off by {span} (medians)"


def picture(comparison: Accuracy) -> Picture:
    own = {i: comparison.predictions[i].peak["peak"] for i in with_peak(comparison)}
    every = rivals(comparison)
    title = _finding(comparison, every)
    figure = style.new_figure(6, title)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    values = [comparison.cases[i].peak["peak"] for i in own]
    values += [value for rival in every for value in rival.said] + list(own.values())
    low, high = min(values) / GB / _MARGIN, max(values) / GB * _MARGIN
    axes.plot([low, high], [low, high], color=style.INK, linewidth=1, zorder=1)
    for rival in every:
        marker, color = rival.formula.mark
        name = f"{rival.formula.name}, {rival.formula.form}"
        look = {"marker": marker, "color": color, "markerfacecolor": "none", "markersize": 6}
        label = _label(name, rival.theirs.errors, 0)
        _scatter(axes, comparison, rival.said.to_dict(), **look, label=label)
    look = {"marker": "o", "color": style.PREDICTED.color, "markersize": 4.5, "zorder": 4}
    look |= {"markeredgecolor": "white", "markeredgewidth": 0.5}
    label = _label("vramfit", comparison.errors("peak allocated"), 2)
    _scatter(axes, comparison, own, **look, label=label)
    _scales(axes, low, high)
    axes.set_xlabel("measured peak allocated, GB")
    axes.set_ylabel("predicted, GB")
    handles, labels = axes.get_legend_handles_labels()
    style.key(figure, list(zip(labels[::-1], handles[::-1], strict=True)), 1)
    below = Caption(
        "GB is 1e9 bytes. A point on the line is predicted right, above it too high, below it too "
        "low.",
        _COMMAND,
    )
    return Picture("accuracy", title, "; ".join(labels[::-1]), below, figure, _SIGNATURE)


def draw(inputs: Inputs) -> Picture:
    return picture(_asked(inputs))
