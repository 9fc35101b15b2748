"""Table 1: inference by precision."""

from vramfit_plots.article import BYTES_PER_WEIGHT
from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import deviations
from vramfit_plots.tables.article_table import Line, Spoken, by_source, own_table
from vramfit_plots.tables.table import Table
from vramfit_plots.units import GB, number


def rows_pattern(inputs: Inputs) -> str:
    return f"^Inference/{inputs.article.inference['model']}/"


def cells(inputs: Inputs) -> list[tuple[str, list[Cell]]]:
    """By precision: the model, then its peak at each of the article's points."""
    result = []
    for row in inputs.article.inference["rows"]:
        first = row["points"][0]
        model = inputs.cell(first["row"], "parameters", row["model"] * GB, entry=first)
        peaks = [
            inputs.cell(point["row"], "allocated", point["peak"] * GB, entry=point)
            for point in row["points"]
        ]
        result.append((row["precision"], [model, *peaks]))
    return result


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.inference
    model, columns = article["model"], article["columns"]
    assumed, true = inputs.article.assumed_parameters()[model], inputs.models[model].parameters
    by_precision = cells(inputs)
    size = (
        f"{model} has {number(true)} parameters; the article's sizes are those of "
        f"{number(assumed)}."
    )
    title = f"Table 1: {article['caption']}"
    about = ("GB (1e9 bytes) allocated.", size, rows_pattern(inputs))
    figures = [
        (f"{precision}\n{column}", precision, cell)
        for precision, row in by_precision
        for column, cell in zip(columns[1:], row, strict=True)
    ]
    lines = [
        deviations.Line(head, cell, proportional=BYTES_PER_WEIGHT[precision] * assumed)
        for head, precision, cell in figures
    ]
    return [
        own_table(
            inputs,
            Spoken("table1", title, *about),
            columns,
            [[precision, *row] for precision, row in by_precision],
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
