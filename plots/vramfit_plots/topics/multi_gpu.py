"""Table 4: what each of several GPUs holds, by the article's table, its code, and what is known."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vramfit_plots import words
from vramfit_plots.article import shrinks
from vramfit_plots.article_tables import Own, by_source
from vramfit_plots.captions import command
from vramfit_plots.cells import Cell, remarks, sides
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, TORCH, TORCH_MEASURED, Source
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import GB, gb, in_words, number

PATTERN = "^Article/estimate_multi_gpu_memory/"
# The article counts weights, gradients and states: what is there after the optimizer's step.
_COUNTER = "step1_optimizer_after"
CODE = style.Look("white", "", "#6e6e6e")
_NAME_WIDTH = 10  # characters
_ALONE = "on one GPU, the other ranks being PyTorch's fake process group"


def _cell(inputs: Inputs, entry: dict) -> Cell:
    cell = inputs.cell(entry["row"], _COUNTER, entry["memory"] * GB, entry=entry)
    if entry["row"] not in inputs.reference.of_one_rank:
        return cell
    return replace(cell, notes={**cell.notes, TORCH_MEASURED.key: _ALONE})


def cells(inputs: Inputs) -> list[tuple[str, list[Cell]]]:
    """Each strategy's cells, one for each number of GPUs."""
    return [
        (row["strategy"], [_cell(inputs, entry) for entry in row["cells"]])
        for row in inputs.article.multi_gpu["rows"]
    ]


def by_the_code(inputs: Inputs, strategy: str, gpus: int) -> float:
    """What the article's code gives a GPU for the same strategy. Bytes."""
    named = {row["strategy"]: row["code"] for row in inputs.article.multi_gpu["rows"]}
    row = f"Article/estimate_multi_gpu_memory/13B/{named[strategy]}/gpus:{gpus}"
    return inputs.need(row, "article_formula")


def _parameters(inputs: Inputs) -> tuple[float, int]:
    """Those that the article's sizes come to, and the model's."""
    model = inputs.article.multi_gpu["model"]
    return inputs.article.assumed_parameters()[model], inputs.models[model].parameters


def _against_the_code(inputs: Inputs) -> Table:
    """Without rows where the run does not hold those of the code. An item is a name, how many GPUs
    have the model together, and bytes of one."""
    assumed, true = _parameters(inputs)
    rows = zip(inputs.article.multi_gpu["rows"], cells(inputs), strict=True)
    try:
        items = [
            (
                f"{strategy}\n{entry['gpus']} GPUs",
                entry["gpus"] if shrinks(row) else 1,
                entry["memory"] * GB,
                by_the_code(inputs, strategy, entry["gpus"]),
                cell.figure(TORCH_MEASURED) or cell.figure(TORCH),
            )
            for row, (strategy, own) in rows
            for entry, cell in zip(row["cells"], own, strict=True)
        ]
    except AbsentError:
        items = []

    def figure(heading: str, place: int, parameters: float) -> Column:
        def text(item: tuple) -> str | None:
            value, share = item[place], item[1]
            return value and f"{gb(value)}\n{number(value * share / parameters, 1)}"

        return Column(f"{heading}\nGB, B/param", text)

    columns = (
        Column("strategy", lambda item: item[0]),
        figure("article's table", 2, assumed),
        figure("article's code", 3, assumed),
        figure(TORCH.side, 4, true),
    )
    return listing("table4_code", columns, items, command(inputs, PATTERN))


def _about(inputs: Inputs) -> dict[str, Any]:
    assumed, true = _parameters(inputs)
    return {"article": inputs.article.multi_gpu, "published": true, "assumed": assumed}


def own(inputs: Inputs) -> Own:
    article = inputs.article.multi_gpu
    rows = [
        [strategy, *own, row["communication"], row["scaling"]]
        for row, (strategy, own) in zip(article["rows"], cells(inputs), strict=True)
    ]
    texts = frozenset({len(article["columns"]) - 2, len(article["columns"]) - 1})
    return Own("table4", article["columns"], rows, PATTERN, _about(inputs), texts)


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.multi_gpu
    gpus = [cell["gpus"] for cell in article["rows"][0]["cells"]]
    lines = [
        (f"{strategy}\n{of} GPUs", cell)
        for strategy, own in cells(inputs)
        for of, cell in zip(gpus, own, strict=True)
    ]
    return [
        own(inputs).table(inputs),
        by_source(inputs, "table4_sources", article["columns"][0], lines, PATTERN),
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


def names(inputs: Inputs) -> list[str]:
    """The strategies', for beside bars."""
    every = (row["strategy"] for row in inputs.article.multi_gpu["rows"])
    return [textwrap.fill(strategy, _NAME_WIDTH) for strategy in every]


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


def _signature(shown: Sequence[Source]) -> str:
    """Its figures are of sources that may have nothing to do with the run."""
    return in_words([ARTICLE.heading, *(source.heading for source in shown)])


def draw(inputs: Inputs) -> Picture:
    article, by_strategy = inputs.article.multi_gpu, cells(inputs)
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
    figure = bars.draw(title, names(inputs), panels, legend, "memory of each GPU, GB")
    alt = f"Table, code, then measured. {'; '.join(said)} GB"
    note = words.note("table4", "picture", remarks=remarks(every, shown))
    return Picture("multi_gpu", title, alt, note, figure, _signature(shown))
