"""Table 2: memory after each stage of the first training step, and what the next steps reach."""

import re

from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, COUNTED
from vramfit_plots.tables import deviations
from vramfit_plots.tables.article_table import Line, Spoken, by_source, own_table
from vramfit_plots.tables.table import Table
from vramfit_plots.units import GB, gb, number

PEAK = "peak of all steps"
_FIGURE = re.compile(r"[+\N{MINUS SIGN}]\d+\.\d ")  # in the article's words for a change
_STATES = {2: "FP16", 4: "FP32"}  # by bytes a parameter of each of m and v
_STEPS = (1, 2)


def row_name(inputs: Inputs) -> str:
    return inputs.article.waterfall["rows"][0]["row"]


def stage_cells(inputs: Inputs) -> list[Cell]:
    """What is allocated after each stage of step 1."""
    return [
        inputs.cell(row["row"], f"step1_{row['stage']}_after", row["memory"] * GB, entry=row)
        for row in inputs.article.waterfall["rows"]
    ]


def peak_cell(inputs: Inputs) -> Cell:
    """The run's peak, which the article does not have."""
    return inputs.cell(row_name(inputs), "allocated", entry=inputs.article.waterfall["rows"][0])


def _in_words(component: str, change: float, parameters: float) -> str:
    """A source's own change in the article's words; states are of the type they are kept in."""
    words = _FIGURE.sub("", component)
    kept_in = _STATES.get(round(change / parameters / 2))
    if "m and v" in words and kept_in:
        words = re.sub(r"FP\d+", kept_in, words)
    return f"{gb(change, signed=True)} {words}"


def _change(before: Cell | None, after: Cell, component: str, parameters: float) -> Cell:
    """The article's words for a change, and each source's own."""
    figures: dict[str, float | str | None] = {ARTICLE.key: component}
    for source in COUNTED:
        own = after.figure(source)
        earlier = before.figure(source) if before else 0.0
        figures[source.key] = (
            None
            if own is None or earlier is None
            else _in_words(component, own - earlier, parameters)
        )
    return Cell(figures)


def _proportional(inputs: Inputs) -> list[float]:
    """Bytes of each article figure that grow with the parameter count. Activations do not: what
    stands after the forward pass is the loaded model and they."""
    rows = inputs.article.waterfall["rows"]
    loaded = inputs.article.stage_memory("loaded")
    return [loaded if row["stage"] == "forward" else row["memory"] * GB for row in rows]


def _steps(inputs: Inputs) -> Table:
    """Both steps, stage by stage."""
    row, rows = row_name(inputs), inputs.article.waterfall["rows"]
    lines = []
    for step in _STEPS:
        for entry in rows[step - 1 :]:  # the model is loaded once
            start = f"step{step}_{entry['stage']}"
            what = entry["label"].removeprefix("after ")
            after = inputs.cell(row, f"{start}_after", entry=rows[0])
            peak = inputs.cell(row, f"{start}_peak", entry=rows[0])
            lines += [Line(f"{what}\nstep {step}, after it", after)]
            lines += [Line(f"{what}\nstep {step}, peak in it", peak)]
    note = (
        "The article's waterfall is step 1; from step 2 on, activations and the optimizer's states "
        "are there at the same time."
    )
    return by_source(
        inputs,
        Spoken(
            "table2_steps",
            "Table 2: both steps",
            "GB (1e9 bytes) allocated.",
            note,
            f"^{row}$",
        ),
        "stage",
        [line for line in lines if any(line.cell.has(source) for source in COUNTED)],
    )


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.waterfall
    model, pattern = article["model"], f"^{row_name(inputs)}$"
    assumed, true = inputs.article.assumed_parameters()[model], inputs.models[model].parameters
    labels = [entry["label"] for entry in article["rows"]]
    after, peak = stage_cells(inputs), peak_cell(inputs)
    rows = [
        [
            entry["label"],
            after[i],
            _change(after[i - 1] if i else None, after[i], entry["component"], true),
        ]
        for i, entry in enumerate(article["rows"])
    ]
    where = inputs.peak_stage(row_name(inputs))
    later = f"The last line is not in the article; vramfit's peak is in {where}." if where else ""
    lines = [
        deviations.Line(label, cell, proportional)
        for label, cell, proportional in zip(labels, after, _proportional(inputs), strict=True)
    ]
    title = f"Table 2: {article['caption']}"
    unit = "GB (1e9 bytes) allocated after each stage of step 1"
    return [
        own_table(
            inputs,
            Spoken("table2", title, f"{unit}, and the change from the line above.", "", pattern),
            article["columns"],
            rows,
            text_columns=frozenset({2}),
        ),
        by_source(
            inputs,
            Spoken("table2_sources", "Table 2 by source", f"{unit}.", later, pattern),
            article["columns"][0],
            [*map(Line, labels, after), Line(PEAK, peak)],
        ),
        _steps(inputs),
        Table(
            key="table2_deviations",
            title="Table 2: why article and prediction differ",
            headings=deviations.headings("after"),
            rows=deviations.rows(lines, assumed, true),
            caption=caption(
                inputs,
                pattern,
                f"{model} has {number(true)} parameters, {number(assumed)} in the article. "
                f"{deviations.NOTE}",
            ),
        ),
    ]
