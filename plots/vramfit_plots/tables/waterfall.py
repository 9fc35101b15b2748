"""Table 2: memory after each stage of the first training step, and what the next steps reach."""

from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, BY_KEY, COUNTED
from vramfit_plots.tables import deviations
from vramfit_plots.tables.table import Table
from vramfit_plots.units import GB, gb, number

PEAK = "peak of all steps"


def row_name(inputs: Inputs) -> str:
    return inputs.article.waterfall["rows"][0]["row"]


def stage_cells(inputs: Inputs) -> list[Cell]:
    """What is allocated after each stage of step 1."""
    return [
        inputs.cell(row["row"], f"step1_{row['stage']}_after", row["memory"] * GB)
        for row in inputs.article.waterfall["rows"]
    ]


def peak_cell(inputs: Inputs) -> Cell:
    """The run's peak, which the article does not have."""
    return inputs.cell(row_name(inputs), "allocated")


def _change(before: Cell | None, after: Cell, component: str) -> Cell:
    """The article's words for a change beside each source's own."""
    figures: dict[str, float | str | None] = {ARTICLE.key: component}
    for source in COUNTED:
        own = after.figure(source)
        earlier = before.figure(source) if before else 0.0
        figures[source.key] = None if own is None or earlier is None else own - earlier
    return Cell(figures, form=lambda change: gb(change, signed=True))


def _proportional(inputs: Inputs) -> list[float]:
    """Bytes of each article figure that grow with the parameter count. Activations do not: what
    stands after the forward pass is the loaded model and they."""
    rows = inputs.article.waterfall["rows"]
    loaded = inputs.article.stage_memory("loaded")
    return [loaded if row["stage"] == "forward" else row["memory"] * GB for row in rows]


def _steps(inputs: Inputs) -> Table:
    """Both steps, stage by stage."""
    columns = {
        f"{moment}, step {step}": f"step{step}_{{stage}}_{counter}"
        for step in (1, 2)
        for moment, counter in (("after it", "after"), ("peak in it", "peak"))
    }
    row, stages = row_name(inputs), inputs.article.waterfall["rows"]
    cells = [
        [inputs.cell(row, counter.format(stage=entry["stage"])) for counter in columns.values()]
        for entry in stages
    ]
    return Table(
        key="table2_steps",
        title="Table 2, both steps",
        headings=["stage", *columns],
        rows=[
            [entry["label"].removeprefix("after "), *row_cells]
            for entry, row_cells in zip(stages, cells, strict=True)
        ],
        caption=caption(
            inputs,
            [cell for row_cells in cells for cell in row_cells],
            f"^{row}$",
            "GB (1e9 bytes) allocated. The article's waterfall is step 1; from step 2 on "
            "activations meet the optimizer's states.",
        ),
    )


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.waterfall
    model, row = article["model"], row_name(inputs)
    assumed, true = inputs.article.assumed_parameters()[model], inputs.models[model].parameters
    labels = [entry["label"] for entry in article["rows"]]
    after, peak = stage_cells(inputs), peak_cell(inputs)

    rows: list[list[Cell | str]] = []
    for i, entry in enumerate(article["rows"]):
        change = _change(after[i - 1] if i else None, after[i], entry["component"])
        rows.append([entry["label"], after[i], change])
    where = inputs.peak_stage(row)
    rows.append([PEAK, peak, f"{BY_KEY['predicted'].heading}: {where}" if where else ""])

    lines = [
        deviations.Line(label, cell, proportional)
        for label, cell, proportional in zip(labels, after, _proportional(inputs), strict=True)
    ]
    every = [*after, peak]
    pattern = f"^{row}$"
    return [
        Table(
            key="table2",
            title=f"Table 2: {article['caption']}",
            headings=article["columns"],
            rows=rows,
            caption=caption(
                inputs,
                every,
                pattern,
                "GB (1e9 bytes) allocated after each stage of step 1, and the change from the line "
                "above. The last line is not in the article.",
            ),
            text_columns=frozenset({2}),
        ),
        _steps(inputs),
        Table(
            key="table2_deviations",
            title="Table 2, figure by figure",
            headings=deviations.headings("after", after),
            rows=deviations.rows(lines, assumed, true),
            caption=caption(
                inputs,
                after,
                pattern,
                f"{model} has {number(true)} parameters, {number(assumed)} in the article.",
            ),
        ),
    ]
