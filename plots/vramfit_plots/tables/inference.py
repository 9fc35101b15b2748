"""Table 1: inference by precision."""

from vramfit_plots.article import BYTES_PER_WEIGHT
from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import deviations
from vramfit_plots.tables.table import Table
from vramfit_plots.units import GB, number


def rows_pattern(inputs: Inputs) -> str:
    return f"^Inference/{inputs.article.inference['model']}/"


def cells(inputs: Inputs) -> list[tuple[str, list[Cell]]]:
    """By precision: the model, then its peak at each of the article's points."""
    result = []
    for row in inputs.article.inference["rows"]:
        first = row["points"][0]
        model = inputs.cell(first["row"], "parameters", row["model"] * GB, first.get("needs"))
        peaks = [
            inputs.cell(point["row"], "allocated", point["peak"] * GB, point.get("needs"))
            for point in row["points"]
        ]
        result.append((row["precision"], [model, *peaks]))
    return result


def _needed(inputs: Inputs) -> str:
    needs = [
        p["needs"]
        for row in inputs.article.inference["rows"]
        for p in row["points"][:1]
        if "needs" in p
    ]
    return f"Not yet: {' and '.join(needs)}." if needs else ""


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.inference
    model, columns = article["model"], article["columns"]
    assumed, true = inputs.article.assumed_parameters()[model], inputs.models[model].parameters
    by_precision = cells(inputs)
    every = [cell for _, row in by_precision for cell in row]
    pattern = rows_pattern(inputs)

    lines = [
        deviations.Line(
            f"{precision}\n{column}", cell, proportional=BYTES_PER_WEIGHT[precision] * assumed
        )
        for precision, row in by_precision
        for column, cell in zip(columns[1:], row, strict=True)
    ]
    size = (
        f"{model} has {number(true)} parameters; the article's sizes are those of "
        f"{number(assumed)}."
    )
    return [
        Table(
            key="table1",
            title=f"Table 1: {article['caption']}",
            headings=columns,
            rows=[[precision, *row] for precision, row in by_precision],
            caption=caption(
                inputs,
                every,
                pattern,
                f"GB (1e9 bytes) allocated. {size} {_needed(inputs)}".strip(),
            ),
        ),
        Table(
            key="table1_deviations",
            title="Table 1, figure by figure",
            headings=deviations.headings("figure", every),
            rows=deviations.rows(lines, assumed, true),
            caption=caption(
                inputs,
                every,
                pattern,
                f"{size} A deviation from the article is what that count makes of it and the "
                "rest, which the run itself does otherwise. Percentages are of the figure compared "
                "with.",
            ),
        ),
    ]
