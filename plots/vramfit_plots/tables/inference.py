"""Table 1: inference by precision."""

from collections.abc import Mapping, Sequence
from typing import Any

from vramfit_plots.article import BYTES_PER_WEIGHT
from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE
from vramfit_plots.tables import deviations
from vramfit_plots.tables.article_table import Line, Spoken, by_source, own_table
from vramfit_plots.tables.table import Table
from vramfit_plots.units import GB, number

_FURTHER = "FP8"


def rows_pattern(inputs: Inputs) -> str:
    return f"^Inference/{inputs.article.inference['model']}/"


def _row(
    inputs: Inputs, points: Sequence[Mapping[str, Any]], printed: Sequence[float | None]
) -> list[Cell]:
    """The model, then its peak at each point. `printed` is what the article has of them, in GB."""
    counters = ["parameters", *("allocated" for _ in points)]
    figures = [gb_printed and gb_printed * GB for gb_printed in printed]
    return [
        inputs.cell(point["row"], counter, figure, entry=point)
        for point, counter, figure in zip((points[0], *points), counters, figures, strict=True)
    ]


def cells(inputs: Inputs) -> list[tuple[str, list[Cell]]]:
    """The article's rows by precision: the model, then its peak at each of the article's points."""
    return [
        (
            row["precision"],
            _row(inputs, row["points"], [row["model"], *(p["peak"] for p in row["points"])]),
        )
        for row in inputs.article.inference["rows"]
    ]


def all_cells(inputs: Inputs) -> list[tuple[str, list[Cell]]]:
    """And of FP8, which the article does not have, at the same points."""
    article = inputs.article.inference
    start, points = f"Inference/{article['model']}/fp8", article["rows"][0]["points"]
    own = [
        {
            "row": f"{start}/batch:{point['batch']}/seq:{point['seq']}",
            "whose": {"vramfit": "vramfit's E4M3 weights and inputs, a scale a row"},
        }
        for point in points
    ]
    return [*cells(inputs), (_FURTHER, _row(inputs, own, [None] * (len(own) + 1)))]


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.inference
    model, columns = article["model"], article["columns"]
    assumed, true = inputs.article.assumed_parameters()[model], inputs.models[model].parameters
    size = (
        f"{model} has {number(true)} parameters; the article's sizes are those of "
        f"{number(assumed)}. {_FURTHER} is not in the article."
    )
    title = f"Table 1: {article['caption']}"
    about = ("GB (1e9 bytes) allocated.", size, rows_pattern(inputs))
    every = all_cells(inputs)
    figures = [
        (f"{precision}\n{column}", precision, cell)
        for precision, row in every
        for column, cell in zip(columns[1:], row, strict=True)
    ]
    lines = [
        deviations.Line(head, cell, proportional=BYTES_PER_WEIGHT[precision] * assumed)
        for head, precision, cell in figures
        if cell.has(ARTICLE)
    ]
    return [
        own_table(
            inputs,
            Spoken("table1", title, *about),
            columns,
            [[precision, *row] for precision, row in every],
        ),
        by_source(
            inputs,
            Spoken("table1_sources", "Table 1 by source", *about),
            columns[0],
            [Line(head, cell) for head, _, cell in figures],
        ),
        Table(
            key="table1_deviations",
            title="Table 1: why article and prediction differ",
            headings=deviations.headings("figure"),
            rows=deviations.rows(lines, assumed, true),
            caption=caption(inputs, rows_pattern(inputs), f"{size} {deviations.NOTE}"),
        ),
    ]
