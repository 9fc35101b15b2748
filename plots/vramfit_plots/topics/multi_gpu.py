"""Table 4: what each of several GPUs holds, by the article's table, its code, and what is known."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vramfit_plots import article_code
from vramfit_plots.article import shrinks
from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell, remarks, sides
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, COUNTED, TORCH_MEASURED, Source
from vramfit_plots.tables.article_table import Line, Spoken, by_source, own_table
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.units import GB, gb, in_words, number

PATTERN = "^Article/estimate_multi_gpu_memory/"
# The article counts weights, gradients and states: what is there after the optimizer's step.
_COUNTER = "step1_optimizer_after"
CODE = style.Look("white", "", "#6e6e6e")
_NAME_WIDTH = 10  # characters


def _held(row: str) -> str:
    """The model that a row is of."""
    return row.split("/")[1]


def _scaled_models(inputs: Inputs) -> list[str]:
    """What stands in for the article's model."""
    every = [entry for row in inputs.article.multi_gpu["rows"] for entry in row["cells"]]
    return sorted({_held(entry["near"]["row"]) for entry in every if "near" in entry})


def _cell(inputs: Inputs, entry: dict) -> Cell:
    """What was measured of another model is scaled by the parameters."""
    cell = inputs.cell(entry["row"], _COUNTER, entry["memory"] * GB, entry=entry)
    if "near" not in entry:
        return cell
    near = inputs.models[_held(entry["near"]["row"])]
    model = inputs.models[inputs.article.multi_gpu["model"]]
    factor = model.parameters / near.parameters
    scaled = {
        source.key: value * factor
        for source in COUNTED
        if source.key in cell.notes and (value := cell.figure(source)) is not None
    }
    notes = {
        key: f"{note}, times {number(factor, 2)} for the parameters of {model.name}"
        for key, note in cell.notes.items()
    }
    return replace(cell, figures={**cell.figures, **scaled}, notes=notes)


def cells(inputs: Inputs) -> list[tuple[str, list[Cell]]]:
    """Each strategy's cells, one for each number of GPUs."""
    return [
        (row["strategy"], [_cell(inputs, entry) for entry in row["cells"]])
        for row in inputs.article.multi_gpu["rows"]
    ]


def by_the_code(inputs: Inputs, strategy: str, gpus: int) -> float:
    """What the article's code gives a GPU for the same strategy. Bytes."""
    named = {row["strategy"]: row["code"] for row in inputs.article.multi_gpu["rows"]}
    return article_code.on_each_gpu(inputs, named[strategy], gpus)


def _parameters(inputs: Inputs) -> tuple[float, int]:
    """Those that the article's sizes come to, and the model's."""
    model = inputs.article.multi_gpu["model"]
    return inputs.article.assumed_parameters()[model], inputs.models[model].parameters


@dataclass(frozen=True)
class _Detail:
    """Bytes of a GPU, `share` of which have the model together."""

    name: str
    share: int
    printed: float
    coded: float
    measured: float | None


def _details(inputs: Inputs) -> list[_Detail]:
    """None where the run does not hold the rows."""
    rows = zip(inputs.article.multi_gpu["rows"], cells(inputs), strict=True)
    try:
        return [
            _Detail(
                name=f"{strategy}\n{entry['gpus']} GPUs",
                share=entry["gpus"] if shrinks(row) else 1,
                printed=entry["memory"] * GB,
                coded=by_the_code(inputs, strategy, entry["gpus"]),
                measured=cell.figure(TORCH_MEASURED),
            )
            for row, (strategy, own) in rows
            for entry, cell in zip(row["cells"], own, strict=True)
        ]
    except AbsentError:
        return []


def _against_the_code(inputs: Inputs) -> Table:
    assumed, true = _parameters(inputs)

    def figure(heading: str, of: str, parameters: float) -> Column:
        def text(detail: _Detail) -> str | None:
            value = getattr(detail, of)
            if value is None:
                return None
            return f"{gb(value)}\n{number(value * detail.share / parameters, 1)}"

        return Column(f"{heading}\nGB, B/param", text)

    columns = (
        Column("strategy", "name"),
        figure("article's table", "printed", assumed),
        figure("article's code", "coded", assumed),
        figure(TORCH_MEASURED.heading, "measured", true),
    )
    note = (
        "On each GPU; B/param counts all GPUs that share the model. The article's code adds fp32 "
        "master weights; PyTorch's AdamW was measured with states in BF16, on Llama-2-7B, and is "
        "scaled to 13B by the parameters."
    )
    title, below = "Table 4 against the article's code", caption(inputs, PATTERN, note)
    return listing("table4_code", title, columns, _details(inputs), below)


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.multi_gpu
    model, columns = article["model"], article["columns"]
    assumed, true = _parameters(inputs)
    by_strategy = cells(inputs)
    unit = (
        "GB (1e9 bytes) on each GPU: weights, gradients and optimizer states; of a pipeline on the "
        "one whose peak is highest."
    )
    count = f"{model} has {number(true)} parameters, {number(assumed)} in the article."
    gpus = [cell["gpus"] for cell in article["rows"][0]["cells"]]
    rows = [
        [strategy, *own, row["communication"], row["scaling"]]
        for row, (strategy, own) in zip(article["rows"], by_strategy, strict=True)
    ]
    lines = [
        Line(f"{strategy}\n{of} GPUs", cell)
        for strategy, own in by_strategy
        for of, cell in zip(gpus, own, strict=True)
    ]
    texts = frozenset({len(columns) - 2, len(columns) - 1})
    own = Spoken("table4", f"Table 4: {article['caption']}", unit, count, PATTERN)
    sources = Spoken("table4_sources", "Table 4 by source", unit, "", PATTERN)
    return [
        own_table(inputs, own, columns, rows, text_columns=texts),
        by_source(inputs, sources, columns[0], lines),
        _against_the_code(inputs),
    ]


def groups(
    inputs: Inputs, column: int, gpus: int, sources: Sequence[Source]
) -> list[list[bars.Bar]]:
    """By strategy: the article's table, its code, then the others."""
    found = []
    for strategy, row in cells(inputs):
        coded = by_the_code(inputs, strategy, gpus)
        printed = bars.bars(row[column], [ARTICLE])
        known = bars.bars(row[column], sources)
        found.append([*printed, bars.Bar(coded, gb(coded), CODE), *known])
    return found


def _finding(inputs: Inputs, shown: Sequence[Source]) -> str:
    """Who agrees with the article's table, and in which strategies."""
    whole, assumed = inputs.article.shared_by(whole=True), _parameters(inputs)[0]
    cell = whole["cells"][0]
    printed = number(cell["memory"] * GB / assumed)
    coded = number(by_the_code(inputs, whole["strategy"], cell["gpus"]) / assumed)
    known = [
        (strategy, source, cell.agrees(source))
        for strategy, row in cells(inputs)
        for cell in row
        for source in shown
        if cell.has(source)
    ]
    if not known or not all(agrees for *_, agrees in known):
        return f"The article's table counts {printed} bytes a parameter, its code {coded}"
    strategies = in_words(dict.fromkeys(strategy for strategy, *_ in known))
    who = dict.fromkeys(source.side for _, source, _ in known)
    hold = "holds" if len(who) == 1 else "hold"
    return (
        f"In {strategies} {in_words(who)} {hold} the {printed} bytes a parameter of the article's "
        f"table, not the {coded} of its code"
    )


def _signature(inputs: Inputs, every: Sequence[Cell], shown: Sequence[Source]) -> str:
    """Its figures are of sources that may have nothing to do with the run."""
    whose = in_words([ARTICLE.heading, *(source.heading for source in shown)])
    scales = any(cell.has(one) and one.key in cell.notes for cell in every for one in shown)
    models = in_words(_scaled_models(inputs)) if scales else ""
    scaled = f"; {models} scaled to {inputs.article.multi_gpu['model']} by the parameters"
    return whose + scaled if models else whose


def draw(inputs: Inputs) -> Picture:
    article = inputs.article.multi_gpu
    by_strategy = cells(inputs)
    every = [cell for _, row in by_strategy for cell in row]
    shown = [source for source in sides(every) if source is not ARTICLE]
    panels = [
        bars.Panel(article["columns"][1 + i], groups(inputs, i, cell["gpus"], shown))
        for i, cell in enumerate(article["rows"][0]["cells"])
    ]
    said = [
        f"{strategy}, {panel.title}: {', '.join(bar.text for bar in group)}"
        for panel in panels
        for (strategy, _), group in zip(by_strategy, panel.groups, strict=True)
    ]
    title = _finding(inputs, shown)
    legend = [
        ("article's table", style.ARTICLE),
        ("article's code", CODE),
        *((source.heading, style.BY_SOURCE[source.key]) for source in shown),
    ]
    names = [textwrap.fill(strategy, _NAME_WIDTH) for strategy, _ in by_strategy]
    note = (
        "GB is 1e9 bytes: weights, gradients and optimizer states of each GPU. "
        f"{remarks(every, shown)}"
    )
    return Picture(
        key="multi_gpu",
        title=title,
        alt="Table, code, then measured. " + "; ".join(said) + " GB",
        caption=caption(inputs, PATTERN, note),
        figure=bars.draw(title, names, panels, legend, "memory of each GPU, GB"),
        signature=_signature(inputs, every, shown),
    )
