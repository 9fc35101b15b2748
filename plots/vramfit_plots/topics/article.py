"""The article's four tables in one picture, for a page that has room for one."""

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes

from vramfit_plots.article_tables import main_source
from vramfit_plots.cells import NEAR, Cell, sides
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, Source
from vramfit_plots.topics import cliffs, inference, multi_gpu, waterfall
from vramfit_plots.units import MISSING, batch, share

_WIDTH, _HEIGHT = 9.0, 7.2  # inches: 900 px wide, as code hosts show it
_TOP, _ROW, _COLUMN = 0.07, 0.19, 0.29  # of the panel, of Table 3 as text
_BELOW = 0.06  # what is said below a figure of it
_NOTE_WIDTH = 66  # characters


def _shown(cells: Sequence[Cell]) -> list[Source]:
    found = sides(cells)
    if len(found) <= 1:
        raise AbsentError("figures to set beside the article's")
    return found


def _inference(axes: Axes, inputs: Inputs) -> list[Source]:
    by_precision = inference.cells(inputs)
    shown = _shown([cell for _, row in by_precision for cell in row[1:]])
    groups = [bars.bars(row[-1], shown) for _, row in by_precision]
    last = inputs.article.inference["columns"][-1]
    panel = bars.Panel(f"Table 1. Inference, 7B: {last}, GB", groups)
    bars.draw_panels([axes], [precision for precision, _ in by_precision], [panel])
    return shown


def _waterfall(axes: Axes, inputs: Inputs) -> None:
    after = waterfall.stage_cells(inputs)
    labels = [row["label"].removeprefix("after ") for row in inputs.article.waterfall["rows"]]
    groups = waterfall.groups(after, _shown(after))
    panel = bars.Panel("Table 2. Training 7B: after each stage, GB", groups)
    bars.draw_panels([axes], [label.replace(" ", "\n", 1) for label in labels], [panel])


def _found(answer: cliffs.Answer, source: Source) -> tuple[str, str]:
    """The best figure there is, marked where it is not the source's, and its colour: whether the
    article's is met."""
    cell = answer.cell
    best = cell.best(source)
    if best is None:
        return MISSING, style.FAINT
    text, tried = cell.text(best), answer.attempts.get(best.key)
    met = tried.plain and tried.met if tried else text == cell.text(ARTICLE)
    return (text if best is source else f"{text}*"), style.RIGHT if met else style.WRONG


def _say_checkpointed(axes: Axes, answer: cliffs.Answer, source: Source, y: float) -> None:
    """Below the figure, the one with checkpointing where that meets the article's, or more."""
    best = answer.cell.best(source)
    tried = answer.attempts.get(best.key) if best else None
    if tried and not tried.plain:
        color = style.RIGHT if tried.met else style.WRONG
        text = f"{tried.way}: {batch(tried.largest)}"
        axes.text(1, y + _BELOW, text, ha="right", va="center", size=7.5, color=color)


def _oom_cliff(axes: Axes, inputs: Inputs) -> None:
    """As text: the article's figure and the one found."""
    by_card = cliffs.answers(inputs)
    answers = [answer for row in by_card for answer in row]
    every = [answer.cell for answer in answers]
    source = main_source(inputs, every)
    axes.set_title("Table 3. Largest batch that fits: article → found")
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(1, 0)
    for j, answer in enumerate(by_card[0]):
        heading = answer.heading.replace(" ", "\n", 1)
        axes.text(_COLUMN * (j + 1), _TOP, heading, ha="center", va="center", size=9)
    for i, row in enumerate(by_card):
        y = _TOP + _ROW * (i + 1)
        axes.axhline(y - _ROW / 2, color=style.GRID, linewidth=0.8)
        axes.text(0, y, row[0].vram, va="center", weight="bold", size=10)
        for j, answer in enumerate(row):
            found, color = _found(answer, source)
            x, printed = _COLUMN * (j + 1), answer.cell.text(ARTICLE)
            axes.text(x, y, f"{printed} → ", ha="right", va="center", size=10)
            axes.text(x, y, found, va="center", weight="bold", size=11, color=color)
            _say_checkpointed(axes, answer, source, y)
    notes = {
        f"* {best.heading}: {cell.notes.get(best.key, '')}".removesuffix(": ")
        for cell in every
        if (best := cell.best(source)) not in {None, source}
    }
    checkpointed = any(not one.plain for answer in answers for one in answer.attempts.values())
    small = ["small: with activation checkpointing"] if checkpointed else []
    said = textwrap.fill("; ".join([*sorted(notes), *small]), _NOTE_WIDTH)
    axes.text(0, 1, said, va="bottom", size=8, color=style.FAINT)


def _multi_gpu(axes: Axes, inputs: Inputs) -> list[Source]:
    gpus = inputs.article.multi_gpu["rows"][0]["cells"][0]["gpus"]
    every = sides([row[0] for _, row in multi_gpu.cells(inputs)])
    shown = [source for source in every if source is not ARTICLE]
    groups = multi_gpu.groups(inputs, 0, gpus, shown)
    panel = bars.Panel(f"Table 4. Each of {gpus} GPUs that train 13B, GB", groups)
    bars.draw_panels([axes], multi_gpu.names(inputs), [panel])
    return shown


def _headline(inputs: Inputs) -> str:
    """How many of the four tables' figures are met, those that are not drawn too."""
    cells = [cell for _, row in inference.cells(inputs) for cell in row]
    cells += waterfall.stage_cells(inputs)
    cells += [answer.cell for row in cliffs.answers(inputs) for answer in row]
    cells += [cell for _, row in multi_gpu.cells(inputs) for cell in row]
    near = sum(cell.agrees(best) for cell in cells if (best := cell.best(inputs.source)))
    unknown = sum(cell.best(inputs.source) is None for cell in cells)
    within = share(NEAR, 0)
    start = f"{near} of the {len(cells)} figures in the article's tables hold within {within}"
    return f"{start}; {unknown} are unknown" if unknown else start


def draw(inputs: Inputs) -> Picture:
    title = _headline(inputs)
    figure = style.new_figure(_HEIGHT, title, _WIDTH)
    (one, two), (three, four) = figure.subplots(2, 2)
    shown = _inference(one, inputs)
    _waterfall(two, inputs)
    _oom_cliff(three, inputs)
    shown += [source for source in _multi_gpu(four, inputs) if source not in shown]
    style.key_of(figure, shown, ("article's code (Table 4)", multi_gpu.CODE.patch()))
    said = "The article's four tables, each figure beside what was measured or is predicted"
    return drawn(inputs, "article", title, figure, [said])
