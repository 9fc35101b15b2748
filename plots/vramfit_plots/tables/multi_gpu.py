"""Table 4: what each of several GPUs holds."""

from vramfit_plots import article_code
from vramfit_plots.article import shrinks
from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables.table import Table
from vramfit_plots.units import GB, gb, number


def cells(inputs: Inputs) -> list[tuple[str, list[Cell]]]:
    """Each strategy's cells, one for each number of GPUs."""
    return [
        (
            row["strategy"],
            [
                inputs.cell(cell["row"], "allocated", cell["memory"] * GB, cell.get("needs"))
                for cell in row["cells"]
            ],
        )
        for row in inputs.article.multi_gpu["rows"]
    ]


def by_the_code(inputs: Inputs, strategy: str, gpus: int) -> float:
    """What the article's code gives a GPU for the same strategy. Bytes."""
    named = {row["strategy"]: row["code"] for row in inputs.article.multi_gpu["rows"]}
    return article_code.on_each_gpu(inputs, named[strategy], gpus)


def bytes_per_parameter(inputs: Inputs) -> tuple[float, float]:
    """By the article's table and by its code, over all GPUs that share the model."""
    article = inputs.article.multi_gpu
    whole = inputs.article.shared_by(whole=True)
    assumed = inputs.article.assumed_parameters()[article["model"]]
    cell = whole["cells"][0]
    coded = by_the_code(inputs, whole["strategy"], cell["gpus"])
    return cell["memory"] * GB / assumed, coded / assumed


def _against_the_code(inputs: Inputs) -> list[Table]:
    """No table where the run does not hold the rows."""
    article, by_strategy = inputs.article.multi_gpu, cells(inputs)
    assumed = inputs.article.assumed_parameters()[article["model"]]
    details: list[list[Cell | str]] = []
    for row, (strategy, row_cells) in zip(article["rows"], by_strategy, strict=True):
        for entry, cell in zip(row["cells"], row_cells, strict=True):
            gpus = entry["gpus"]
            share = gpus if shrinks(row) else 1
            printed = entry["memory"] * GB
            try:
                coded = by_the_code(inputs, strategy, gpus)
            except AbsentError:
                return []
            details.append(
                [
                    f"{strategy}\n{gpus} GPUs",
                    cell,
                    number(printed * share / assumed, 1),
                    gb(coded),
                    number(coded * share / assumed, 1),
                ]
            )
    return [
        Table(
            key="table4_code",
            title="Table 4 against the article's code",
            headings=[
                "strategy",
                "on each GPU\nGB",
                "B/param",
                "by the article's code\nGB",
                "B/param",
            ],
            rows=details,
            caption=caption(
                inputs,
                [cell for _, row in by_strategy for cell in row],
                "^MultiGpu/",
                "B/param counts all GPUs that share the model. The article's code adds fp32 master "
                "weights.",
            ),
        ),
    ]


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.multi_gpu
    model = article["model"]
    assumed, true = inputs.article.assumed_parameters()[model], inputs.models[model].parameters
    by_strategy = cells(inputs)
    every = [cell for _, row in by_strategy for cell in row]
    count = f"{model} has {number(true)} parameters, {number(assumed)} in the article."
    return [
        Table(
            key="table4",
            title=f"Table 4: {article['caption']}",
            headings=article["columns"],
            rows=[
                [strategy, *row_cells, row["communication"], row["scaling"]]
                for row, (strategy, row_cells) in zip(article["rows"], by_strategy, strict=True)
            ],
            caption=caption(inputs, every, "^MultiGpu/", f"GB (1e9 bytes) on each GPU. {count}"),
            text_columns=frozenset({len(article["columns"]) - 2, len(article["columns"]) - 1}),
        ),
        *_against_the_code(inputs),
    ]
