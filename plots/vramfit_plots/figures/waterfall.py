"""The training waterfall: memory after each stage of step 1, beside the peak of all steps."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from vramfit_plots.captions import caption, signature
from vramfit_plots.cells import Cell, has_figures, remarks
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.figures.sides import our_side, sides, their_side
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, PREDICTED, TORCH, Source
from vramfit_plots.tables.waterfall import peak_cell, row_name, stage_cells
from vramfit_plots.units import GB, gb, gigabytes

_LEAST_NAMED = 0.03  # of the peak: a thinner part has no room for its name
_ROOM = 1.08  # for the figures at the bars' ends
_APART = 1.9  # bars of the right pane, with room for names between them


def groups(after: Sequence[Cell], sources: Sequence[Source]) -> list[list[bars.Bar]]:
    """A group of bars for each stage."""
    return [bars.bars(cell, sources) for cell in after]


def _stack(axes: Axes, inputs: Inputs, x: float, source: Source, total: float) -> None:
    """What a peak is made of, each part with its name beside it."""
    row, bottom = row_name(inputs), 0.0
    for name, look in style.BY_CATEGORY.items():
        value = inputs.value(row, f"{source.prefix}{name}") or 0.0
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
    names, said, totals = [], [], []
    for source, side in ((PREDICTED, "vramfit"), (TORCH, "PyTorch")):
        total = peak.figure(source)
        if total is not None:
            _stack(axes, inputs, _APART * len(names), source, total)
            names.append(side)
            totals.append(total)
            said.append(f"{side} peaks at {gb(total)}")
    axes.set_xticks([_APART * i for i in range(len(names))], names)
    axes.set_xlim(-0.45, _APART * len(names) - 0.35)
    axes.set_ylim(0, _ROOM * max(totals, default=GB) / GB)
    axes.set_title("Peak of all steps, predicted, GB")
    style.level_grid(axes)
    return said


def finding(after: Sequence[Cell], labels: Sequence[str]) -> str:
    """Where memory is highest after a stage, by all."""
    ours, theirs = our_side(after), their_side(after)
    highest = max(range(len(after)), key=lambda i: after[i].figure(ARTICLE) or 0)
    cell = after[highest]
    found = [
        f"{gigabytes(value)} in {name}"
        for name, source in (("vramfit", ours), ("PyTorch", theirs))
        if source and (value := cell.figure(source)) is not None
    ]
    printed = gigabytes(cell.figure(ARTICLE) or 0)
    return f"{labels[highest].capitalize()}: {' and '.join(found)}, where the article has {printed}"


def draw(inputs: Inputs) -> Picture:
    row, after, peak = row_name(inputs), stage_cells(inputs), peak_cell(inputs)
    if peak.figure(PREDICTED) is None or not has_figures(after, PREDICTED):
        raise AbsentError(row)
    sources = sides(after)
    labels = [entry["label"] for entry in inputs.article.waterfall["rows"]]
    title = finding(after, labels)

    figure = style.new_figure(4.2, title)
    left, right = figure.subplots(1, 2, width_ratios=[1.7, 1.25])
    panel = bars.Panel("Step 1, after each stage", groups(after, sources))
    bars.draw_panels([left], [label.replace(" ", "\n", 1) for label in labels], [panel])
    left.set_xlabel("memory allocated, GB")
    peaks = _peaks(right, inputs, peak)
    looks = [(source.heading, style.BY_SOURCE[source.key].patch()) for source in sources]
    style.key(figure, looks, len(looks))

    said = [
        f"{label}: " + ", ".join(f"{s.heading} {cell.text(s)}" for s in sources)
        for label, cell in zip(labels, after, strict=True)
    ]
    return Picture(
        key="waterfall",
        title=title,
        alt="; ".join([*said, *peaks]) + " GB",
        caption=caption(
            inputs,
            f"^{row}$",
            "GB is 1e9 bytes. Left: step 1, as in the article. Right: the peak over all steps and "
            "what it is made of. vramfit keeps m and v in FP32, as the article does; PyTorch's "
            f"AdamW keeps them in the weights' type. {remarks(after, sources)}".strip(),
        ),
        figure=figure,
        signature=signature(inputs),
    )
