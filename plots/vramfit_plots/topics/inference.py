"""Table 1: inference by precision."""

from collections.abc import Mapping, Sequence
from typing import Any

from vramfit_plots.article import BYTES_PER_WEIGHT
from vramfit_plots.article_tables import Own, by_source, deviations
from vramfit_plots.cells import Cell, has_figures, remarks, sides
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, OURS, PREDICTED, Source
from vramfit_plots.tables import Table
from vramfit_plots.units import GB, gb, in_words, number, percent, share

_FURTHER = "FP8"


def _pattern(inputs: Inputs) -> str:
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


def _stored_in(inputs: Inputs, precision: str) -> str:
    """What vramfit's weights of that row are in: "nf4" of INT4."""
    rows = {row["precision"]: row["points"][0]["row"] for row in inputs.article.inference["rows"]}
    return str(rows[precision].split("/")[2]) if precision in rows else precision.lower()


def _all_cells(inputs: Inputs) -> list[tuple[str, list[Cell]]]:
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


def _about(inputs: Inputs) -> dict[str, Any]:
    article = inputs.article.inference
    model = article["model"]
    assumed, true = inputs.article.assumed_parameters()[model], inputs.models[model].parameters
    return {
        "article": article,
        "published": true,
        "assumed": assumed,
        "further": _FURTHER,
        "quality": inputs.quality,
    }


def _perplexity(inputs: Inputs, precision: str) -> Cell:
    """Of the model that was trained, with weights in what the row is of."""
    score = inputs.quality.score(_stored_in(inputs, precision)) if inputs.quality else None
    if inputs.quality is None or score is None:
        return Cell({})
    above = inputs.quality.above(score)
    keys = [source.key for source in OURS]
    below = {} if above is None else dict.fromkeys(keys, percent(above, 2))
    figures = dict.fromkeys(keys, score.perplexity)
    return Cell(figures, lambda value: number(value, 2), below=below)


def own(inputs: Inputs) -> Own:
    rows = [[precision, *row] for precision, row in _all_cells(inputs)]
    columns, kept = inputs.article.inference["columns"], frozenset[int]()
    if inputs.quality:
        kept = frozenset([len(columns)])
        columns = [*columns, f"perplexity\n{inputs.quality.course['model']}"]
        rows = [[*row, _perplexity(inputs, row[0])] for row in rows]
    return Own("table1", columns, rows, _pattern(inputs), _about(inputs), kept_columns=kept)


def build(inputs: Inputs) -> list[Table]:
    article, pattern = inputs.article.inference, _pattern(inputs)
    model, columns, about = article["model"], article["columns"], _about(inputs)
    figures = [
        (f"{precision}\n{column}", precision, cell)
        for precision, row in _all_cells(inputs)
        for column, cell in zip(columns[1:], row, strict=True)
    ]
    lines = [(head, cell) for head, _, cell in figures]
    causes = [
        (head, cell, BYTES_PER_WEIGHT[precision] * about["assumed"])
        for head, precision, cell in figures
        if cell.has(ARTICLE)
    ]
    return [
        own(inputs).table(inputs),
        by_source(inputs, "table1_sources", columns[0], lines, pattern, **about),
        deviations(inputs, "table1_deviations", "figure", model, causes, pattern=pattern, **about),
    ]


def _finding(point: str, by_precision: Mapping[str, Cell], shown: Sequence[Source]) -> str:
    """How far what is known at a point is off the article, and of which precisions it is."""
    off = {
        precision: [value / printed - 1 for source in shown if (value := cell.figure(source))]
        for precision, cell in by_precision.items()
        if (printed := cell.figure(ARTICLE))
    }
    known = [precision for precision, ratios in off.items() if ratios]
    if not known:
        return f"The article alone has figures at {point}"
    every = [ratio for ratios in off.values() for ratio in ratios]
    low, high = min(every), max(every)
    which = "every precision" if len(known) == len(off) else in_words(known)
    one = len(known) in {1, len(off)}
    if low >= 0:
        span = f"{number(100 * low)} to {share(high, 0)}"
        return f"At {point} {which} {'takes' if one else 'take'} {span} more than the article says"
    span = f"{percent(low, 0)} to {percent(high, 0)}"
    return f"At {point} {which} {'differs' if one else 'differ'} from the article by {span}"


def draw(inputs: Inputs) -> Picture:
    by_precision = _all_cells(inputs)
    every = [cell for _, row in by_precision for cell in row[1:]]
    if not has_figures(every, PREDICTED):
        raise AbsentError(f"a row {_pattern(inputs)}")
    shown = sides(every)
    points = [column.removeprefix("peak ") for column in inputs.article.inference["columns"][2:]]
    panels = [
        bars.Panel(point, [bars.bars(row[1 + i], shown) for _, row in by_precision])
        for i, point in enumerate(points)
    ]
    said = [
        f"{precision}, {point}: "
        + ", ".join(f"{s.heading} {gb(cell.figure(s))}" for s in shown if cell.figure(s))
        for precision, row in by_precision
        for point, cell in zip(points, row[1:], strict=True)
    ]
    others = [source for source in shown if source is not ARTICLE]
    title = _finding(points[-1], {precision: row[-1] for precision, row in by_precision}, others)
    legend = [(source.heading, style.BY_SOURCE[source.key]) for source in shown]
    names = [precision for precision, _ in by_precision]
    figure = bars.draw(title, names, panels, legend, "peak memory allocated, GB")
    beside = remarks(every, shown)
    return drawn(inputs, "inference", title, figure, said, unit="GB", remarks=beside)
