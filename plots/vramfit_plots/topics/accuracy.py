"""The accuracy of predictions of PyTorch: in all, beside the formulas, by case and by stage."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from vramfit_plots import words
from vramfit_plots.accuracy.bounds import BOUNDS
from vramfit_plots.accuracy.comparison import KINDS, LARGEST, PEAK_KINDS, Accuracy
from vramfit_plots.accuracy.rivals import CARDS, Rival, ours, rivals, with_peak
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import GB, gb, number, percent, share

_COMMAND = "make accuracy"
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


def _asked_for(kind: str) -> str:
    return "; ".join(bound.text for bound in BOUNDS if bound.figure == kind)


def _met(kind: str, errors: pd.Series) -> str:
    bounds = [bound for bound in BOUNDS if bound.figure == kind]
    missed = [bound.words for bound in bounds if not bound.kept(errors)]
    return f"not the {', '.join(missed)}" if missed else "yes"


_IN_ALL = (  # of a kind, the file it is in and its errors
    Column("figure", lambda one: f"{one[0]}\n{one[1]}"),
    Column("how many", lambda one: len(one[2]), number),
    Column("equal", lambda one: (one[2] == 0).sum(), number),
    Column("median error", lambda one: _median(one[2])),
    Column("worst", lambda one: _worst(one[2])),
    Column("lowest", lambda one: _error(one[2].min())),
    Column("asked for", lambda one: _asked_for(one[0]), text=True),
    Column("met", lambda one: _met(one[0], one[2]), text=True),
)


def _in_all(comparison: Accuracy) -> Table:
    every = [
        (kind, source, comparison.errors(kind, source))
        for kind in KINDS
        for source in comparison.sources
    ]
    return listing("accuracy", _IN_ALL, [one for one in every if not one[2].empty], _COMMAND)


def _beside_formulas(comparison: Accuracy) -> Table:
    """A line is who says it, and how well."""
    found = rivals(comparison)
    scores = [("vramfit", ours(comparison, with_peak(comparison)))]
    for rival in found:
        scores.append((f"{rival.formula.name}\n{rival.formula.form}", rival.theirs))
        scores.append(("vramfit\non the same cases", rival.ours))
    columns = [
        Column("by", lambda line: line[0]),
        Column("cases", lambda line: line[1].cases, number),
        Column("median error", lambda line: _median(line[1].errors)),
        Column("worst", lambda line: _worst(line[1].errors)),
        *(
            Column(
                f"{number(comparison.cards[card].vram / 2**30)} GiB\n{card}",
                lambda line, card=card: line[1].wrong.get(card, 0),
                number,
            )
            for card in CARDS
        ),
        Column(
            "wrong verdicts", lambda line: f"{line[1].all_wrong} of {line[1].cases * len(CARDS)}"
        ),
    ]
    sources = "; ".join(f"{rival.formula.name}: {rival.formula.source}" for rival in found)
    return listing("accuracy_formulas", columns, scores, _COMMAND, sources=sources)


Line = tuple[str, dict[str, Any]]  # its head, and figures by level


def _three(level: str) -> list[Column]:
    """Predicted and measured in GB, and the error, of a line's figures by level."""

    def column(what: str, key: str, form: Callable[..., str | None], *decimals: int) -> Column:
        def entry(line: Line) -> str | None:
            found = line[1].get(level)
            return None if found is None else form(getattr(found, key), *decimals)

        return Column(f"{_LEVELS[level]}\n{what}", entry)

    return [
        column("predicted, GB", "predicted", gb, 3),
        column("measured, GB", "measured", gb, 3),
        column("error", "error", _error),
    ]


def _by_level(
    key: str, head: str, lines: Iterable[Line], levels: Iterable[str], *, long: bool = False
) -> Table:
    three = [column for level in levels for column in _three(level)]
    columns = [Column(head, lambda line: line[0]), *three]
    return listing(key, columns, lines, _COMMAND, long=long)


def _cases(comparison: Accuracy) -> Iterable[Line]:
    figures = comparison.figures
    by_case = {i: (comparison.cases[i].title, {}) for i in with_peak(comparison)}
    for one in figures[figures["kind"].isin(PEAK_KINDS.values())].itertuples():
        by_case[one.case][1][one.level] = one
    return by_case.values()


def of_several_gpus(comparison: Accuracy) -> Table:
    return _by_level("accuracy_gpus", "case", _cases(comparison), PEAK_KINDS)


def _stages(comparison: Accuracy) -> Iterable[Line]:
    by_stage: dict[tuple[int, str], Line] = {}
    for one in comparison.figures[comparison.figures["stage"].notna()].itertuples():
        head = f"{comparison.cases[one.case].title}\n{one.stage}"
        by_stage.setdefault((one.case, one.stage), (head, {}))[1][one.level] = one
    return by_stage.values()


def _largest_batches(comparison: Accuracy) -> Table:
    columns = (
        Column("case", lambda one: comparison.cases[one.case].title),
        Column("predicted", "predicted", number),
        Column("measured", "measured", number),
    )
    largest = comparison.figures[comparison.figures["kind"] == LARGEST].itertuples()
    return listing("accuracy_max_batch", columns, largest, _COMMAND)


def tables(comparison: Accuracy) -> list[Table]:
    cases, stages = _cases(comparison), _stages(comparison)
    built = [
        _in_all(comparison),
        _beside_formulas(comparison),
        _largest_batches(comparison),
        _by_level("accuracy_cases", "case", cases, PEAK_KINDS, long=True),
        _by_level("accuracy_stages", "case and stage", stages, _LEVELS, long=True),
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
    axes.plot([low, high], [low, high], color=style.INK, linewidth=1, zorder=1)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator([tick for tick in _TICKS if low <= tick <= high]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.grid()
    axes.set_xlabel("measured peak allocated, GB")
    axes.set_ylabel("predicted, GB")


def _label(name: str, errors: pd.Series, decimals: int, form: str = "") -> str:
    said = f"{name}: median error {share(errors.abs().median(), decimals)}"
    return f"{said}\n{form}" if form else said


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
    figure = style.new_figure(5.4, title)
    axes = figure.subplots()
    values = [comparison.cases[i].peak["peak"] for i in own]
    values += [value for rival in every for value in rival.said] + list(own.values())
    _scales(axes, min(values) / GB / _MARGIN, max(values) / GB * _MARGIN)
    for rival in every:
        marker, color = rival.formula.mark
        look = {"marker": marker, "color": color, "markerfacecolor": "none", "markersize": 6}
        label = _label(rival.formula.name, rival.theirs.errors, 0, rival.formula.form)
        _scatter(axes, comparison, rival.said.to_dict(), **look, label=label)
    look = {"marker": "o", "color": style.PREDICTED.color, "markersize": 4.5, "zorder": 4}
    look |= {"markeredgecolor": "white", "markeredgewidth": 0.5}
    label = _label("vramfit", comparison.errors("peak allocated"), 2)
    _scatter(axes, comparison, own, **look, label=label)
    handles, labels = (every[::-1] for every in axes.get_legend_handles_labels())
    # Below the line there is room, but on a phone: nobody predicts little of what takes much.
    where = {"loc": "upper left", "bbox_to_anchor": (0, -0.15)} if style.is_narrow() else {}
    axes.legend(
        handles,
        labels,
        **({"loc": "lower right"} | where),
        fontsize=8,
        labelspacing=0.7,
        frameon=True,
        edgecolor="w",
    )
    alt = "; ".join(label.replace("\n", ", ") for label in labels)
    note = words.note("accuracy", "picture")
    return Picture("accuracy", title, alt, note, figure, "vramfit --runtime pytorch")


def draw(inputs: Inputs) -> Picture:
    return picture(_asked(inputs))
