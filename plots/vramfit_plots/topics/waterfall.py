"""Table 2: memory after each stage of the first training step, and what the next steps reach."""

import re
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from vramfit_plots.article_tables import Own, by_source, deviations
from vramfit_plots.cells import Cell, has_figures, remarks, sides
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, COUNTED, PREDICTED, TORCH, Source
from vramfit_plots.tables import Table
from vramfit_plots.units import GB, gb, gigabytes

PEAK = "peak of all steps"
_FIGURE = re.compile(r"[+\N{MINUS SIGN}]\d+\.\d ")  # in the article's words for a change
_STATES = {2: "FP16", 4: "FP32"}  # by bytes a parameter of each of m and v
_STEPS = (1, 2)
_LEAST_NAMED = 0.03  # of the peak: a thinner part has no room for its name
_ROOM = 1.08  # for the figures at the bars' ends
_APART = 1.9  # bars of the right pane, with room for names between them


def stage_cells(inputs: Inputs) -> list[Cell]:
    """What is allocated after each stage of step 1."""
    return [
        inputs.cell(row["row"], f"step1_{row['stage']}_after", row["memory"] * GB, entry=row)
        for row in inputs.article.waterfall["rows"]
    ]


def _peak_cell(inputs: Inputs) -> Cell:
    """The run's peak, which the article does not have."""
    entry = inputs.article.waterfall["rows"][0]
    return inputs.cell(inputs.article.table_2_row, "allocated", entry=entry)


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
        known = own is not None and earlier is not None
        figures[source.key] = _in_words(component, own - earlier, parameters) if known else None
    return Cell(figures)


def _proportional(inputs: Inputs) -> list[float]:
    """Bytes of each article figure that grow with the parameter count. Activations do not: what
    stands after the forward pass is the loaded model and they."""
    rows = inputs.article.waterfall["rows"]
    loaded = inputs.article.stage_memory("loaded")
    return [loaded if row["stage"] == "forward" else row["memory"] * GB for row in rows]


def _steps(inputs: Inputs, pattern: str) -> Table:
    """Both steps, stage by stage."""
    row, rows = inputs.article.table_2_row, inputs.article.waterfall["rows"]
    lines = [
        (
            f"{entry['label'].removeprefix('after ')}\nstep {step}, {said} it",
            inputs.cell(row, f"step{step}_{entry['stage']}_{when}", entry=rows[0]),
        )
        for step in _STEPS
        for entry in rows[step - 1 :]  # the model is loaded once
        for when, said in (("after", "after"), ("peak", "peak in"))
    ]
    known = [(head, cell) for head, cell in lines if any(map(cell.has, COUNTED))]
    return by_source(inputs, "table2_steps", "stage", known, pattern)


def _about(inputs: Inputs) -> dict[str, Any]:
    article = inputs.article.waterfall
    model = article["model"]
    assumed, true = inputs.article.assumed_parameters()[model], inputs.models[model].parameters
    return {"article": article, "published": true, "assumed": assumed}


def own(inputs: Inputs) -> Own:
    article, after, about = inputs.article.waterfall, stage_cells(inputs), _about(inputs)
    changes = [
        _change(before, cell, entry["component"], about["published"])
        for before, cell, entry in zip([None, *after], after, article["rows"], strict=False)
    ]
    labels = [entry["label"] for entry in article["rows"]]
    rows = [list(row) for row in zip(labels, after, changes, strict=True)]
    pattern = f"^{inputs.article.table_2_row}$"
    return Own("table2", article["columns"], rows, pattern, about, frozenset({2}))


def build(inputs: Inputs) -> list[Table]:
    article, row = inputs.article.waterfall, inputs.article.table_2_row
    model, columns, pattern = article["model"], article["columns"], f"^{row}$"
    labels, after = [entry["label"] for entry in article["rows"]], stage_cells(inputs)
    about, where = _about(inputs), inputs.peak_stage(row)
    lines = [*zip(labels, after, strict=True), (PEAK, _peak_cell(inputs))]
    causes = list(zip(labels, after, _proportional(inputs), strict=True))
    return [
        own(inputs).table(inputs),
        by_source(inputs, "table2_sources", columns[0], lines, pattern, where=where),
        _steps(inputs, pattern),
        deviations(inputs, "table2_deviations", "after", model, causes, pattern=pattern, **about),
    ]


def groups(after: Sequence[Cell], sources: Sequence[Source]) -> list[list[bars.Bar]]:
    """A group of bars for each stage."""
    return [bars.bars(cell, sources) for cell in after]


def _stack(axes: Axes, inputs: Inputs, x: float, source: Source, total: float) -> None:
    """What a peak is made of, each part with its name beside it."""
    bottom = 0.0
    for name, look in style.BY_CATEGORY.items():
        value = inputs.of(inputs.article.table_2_row, source, name) or 0.0
        if value > 0:
            axes.bar(x, value / GB, 0.6, bottom / GB, **look.bar())
        if value > _LEAST_NAMED * total:
            middle = (x + 0.3, (bottom + value / 2) / GB)
            text = f"{name.replace('_', ' ').replace(' ', chr(10))}\n{gb(value)}"
            style.say(axes, text, middle, (4, 0), va="center", size=8)
        bottom += value
    style.say(axes, gb(total), (x, total / GB), (0, 2), ha="center", strong=True)


def _peaks(axes: Axes, inputs: Inputs, peak: Cell) -> list[str]:
    """Both sides' predicted peaks; what is said of them comes back."""
    totals = {source: peak.figure(source) for source in (PREDICTED, TORCH)}
    known = {source: total for source, total in totals.items() if total is not None}
    for i, (source, total) in enumerate(known.items()):
        _stack(axes, inputs, _APART * i, source, total)
    axes.set_xticks([_APART * i for i in range(len(known))], [source.side for source in known])
    axes.set_xlim(-0.45, _APART * len(known) - 0.35)
    axes.set_ylim(0, _ROOM * max(known.values(), default=GB) / GB)
    axes.set_title("Peak of all steps, predicted, GB")
    style.level_grid(axes)
    return [f"{source.side} peaks at {gb(total)}" for source, total in known.items()]


def _finding(after: Sequence[Cell], labels: Sequence[str]) -> str:
    """Where memory is highest after a stage, by all."""
    highest = max(range(len(after)), key=lambda i: after[i].figure(ARTICLE) or 0)
    cell = after[highest]
    found = [
        f"{gigabytes(value)} in {source.side}"
        for source in sides(after)
        if source is not ARTICLE and (value := cell.figure(source)) is not None
    ]
    printed = gigabytes(cell.figure(ARTICLE) or 0)
    return f"{labels[highest].capitalize()}: {' and '.join(found)}, where the article has {printed}"


def draw(inputs: Inputs) -> Picture:
    after, peak = stage_cells(inputs), _peak_cell(inputs)
    if peak.figure(PREDICTED) is None or not has_figures(after, PREDICTED):
        raise AbsentError(inputs.article.table_2_row)
    sources = sides(after)
    labels = [entry["label"] for entry in inputs.article.waterfall["rows"]]
    title = _finding(after, labels)
    figure = style.new_figure(4.2, title)
    left, right = style.grid(figure, 2, 2, width_ratios=[1.7, 1.25])
    panel = bars.Panel("Step 1, after each stage", groups(after, sources))
    bars.draw_panels([left], [label.replace(" ", "\n", 1) for label in labels], [panel])
    left.set_xlabel("memory allocated, GB")
    peaks = _peaks(right, inputs, peak)
    style.key_of(figure, sources)
    stages = [
        f"{label}: " + ", ".join(f"{s.heading} {cell.text(s)}" for s in sources)
        for label, cell in zip(labels, after, strict=True)
    ]
    said, beside = [*stages, *peaks], remarks(after, sources)
    return drawn(inputs, "waterfall", title, figure, said, unit="GB", remarks=beside)
