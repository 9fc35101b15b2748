"""Table 4: what each of several GPUs holds."""

from dataclasses import replace

from vramfit_plots import article_code
from vramfit_plots.article import shrinks
from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import COUNTED, TORCH_MEASURED
from vramfit_plots.tables.article_table import Line, Spoken, by_source, own_table
from vramfit_plots.tables.table import Table
from vramfit_plots.units import GB, MISSING, gb, number

PATTERN = "^Article/estimate_multi_gpu_memory/"
# The article counts weights, gradients and states: what is there after the optimizer's step.
_COUNTER = "step1_optimizer_after"


def _held(row: str) -> str:
    """The model that a row is of."""
    return row.split("/")[1]


def scaled_models(inputs: Inputs) -> list[str]:
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
    true = inputs.models[article["model"]].parameters

    def per_parameter(value: float | None, gpus: int, parameters: float) -> str:
        return MISSING if value is None else f"{gb(value)}\n{number(value * gpus / parameters, 1)}"

    details = []
    for row, (strategy, row_cells) in zip(article["rows"], by_strategy, strict=True):
        for entry, cell in zip(row["cells"], row_cells, strict=True):
            gpus = entry["gpus"]
            share = gpus if shrinks(row) else 1
            try:
                coded = by_the_code(inputs, strategy, gpus)
            except AbsentError:
                return []
            details.append(
                [
                    f"{strategy}\n{gpus} GPUs",
                    per_parameter(entry["memory"] * GB, share, assumed),
                    per_parameter(coded, share, assumed),
                    per_parameter(cell.figure(TORCH_MEASURED), share, true),
                ]
            )
    return [
        Table(
            key="table4_code",
            title="Table 4 against the article's code",
            headings=[
                "strategy",
                "article's table\nGB, B/param",
                "article's code\nGB, B/param",
                f"{TORCH_MEASURED.heading}\nGB, B/param",
            ],
            rows=details,
            caption=caption(
                inputs,
                PATTERN,
                "On each GPU; B/param counts all GPUs that share the model. The article's code "
                "adds fp32 master weights; PyTorch's AdamW was measured with states in BF16, on "
                "Llama-2-7B, and is scaled to 13B by the parameters.",
            ),
        ),
    ]


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.multi_gpu
    model, columns = article["model"], article["columns"]
    assumed, true = inputs.article.assumed_parameters()[model], inputs.models[model].parameters
    by_strategy = cells(inputs)
    unit = (
        "GB (1e9 bytes) on each GPU: weights, gradients and optimizer states; of a pipeline on the "
        "one whose peak is highest."
    )
    count = f"{model} has {number(true)} parameters, {number(assumed)} in the article."
    gpus = [cell["gpus"] for cell in article["rows"][0]["cells"]]
    return [
        own_table(
            inputs,
            Spoken("table4", f"Table 4: {article['caption']}", unit, count, PATTERN),
            columns,
            [
                [strategy, *row_cells, row["communication"], row["scaling"]]
                for row, (strategy, row_cells) in zip(article["rows"], by_strategy, strict=True)
            ],
            text_columns=frozenset({len(columns) - 2, len(columns) - 1}),
        ),
        by_source(
            inputs,
            Spoken("table4_sources", "Table 4 by source", unit, "", PATTERN),
            columns[0],
            [
                Line(f"{strategy}\n{count_of} GPUs", cell)
                for strategy, row_cells in by_strategy
                for count_of, cell in zip(gpus, row_cells, strict=True)
            ],
        ),
        *_against_the_code(inputs),
    ]
