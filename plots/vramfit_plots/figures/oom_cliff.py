"""The OOM cliff: memory against batch, the cards' sizes, and the largest batch on each."""

from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import caption
from vramfit_plots.cards import Card
from vramfit_plots.cells import Cell
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import PREDICTED
from vramfit_plots.tables.oom_cliff import short_title, taken
from vramfit_plots.units import GB, gb, number

PRECISION = "fp16"
_ROOM = 1.36  # for the names of lines and cards, right of the last point


@dataclass(frozen=True)
class _Line:
    optimizer: str
    keeps: str  # bytes of optimizer state, in words
    color: str
    dashes: str
    marker: str


_LINES = (
    _Line("adamw-master", "FP32 weights, m and v", "#CC79A7", "-.", "D"),
    _Line("adamw", "FP32 m and v", "#0072B2", "-", "o"),
    _Line("adamw-same", "FP16 m and v", "#D55E00", "--", "s"),
    _Line("sgd", "no state", "#009E73", ":", "^"),
)


@dataclass(frozen=True)
class Point:
    batch: float
    total: float  # bytes the card has lost, driver included
    card: Card | None  # on which this is the largest batch


def points(inputs: Inputs, optimizer: str, cards: list[Card]) -> list[Point]:
    """By batch: the sweep's training rows, and the largest batch of each card."""
    model, seq = inputs.article.inference["model"], inputs.article.oom_cliff["seq"]
    start, end = f"Training/{model}/{PRECISION}/{optimizer}/batch:", f"/seq:{seq}"
    # A training row runs on the run's own card; what the driver takes is assumed equal on all.
    driver = cards[0].driver_reserved
    found = []
    for name in inputs.run.rows.index:
        used = inputs.value(name, f"{PREDICTED.prefix}device_used")
        if name.startswith(start) and name.endswith(end) and used and not inputs.value(name, "oom"):
            batch = name.removeprefix(start).removesuffix(end)
            if "/" not in batch:
                batch = inputs.run.parse(name).number("batch")
                found.append(Point(batch, used + driver, None))
    for card in cards:
        row = f"OomCliff/{model}/{PRECISION}/{optimizer}{end}/gpu:{card.name}"
        largest, total = inputs.value(row, f"{PREDICTED.prefix}max_batch"), taken(inputs, row)
        if largest and total:
            found.append(Point(largest, total, card))
    return sorted(found, key=lambda point: (point.batch, point.card is not None))


def _draw_line(axes: Axes, line: _Line, found: list[Point]) -> None:
    axes.plot(
        [point.batch for point in found],
        [point.total / GB for point in found],
        line.dashes,
        color=line.color,
        linewidth=2,
    )
    for point in found:
        marker, size = (".", 6) if point.card is None else (line.marker, 7)
        at = (point.batch, point.total / GB)
        axes.plot(
            *at,
            marker,
            color=line.color,
            markersize=size,
            markeredgecolor="white",
            markeredgewidth=0 if point.card is None else 1,
            zorder=3,
        )
        if point.card is not None:
            style.say(axes, number(point.batch), at, (0, -15), ha="center", strong=True)
    last = found[-1]
    # The name of a line that ends at a card's size goes below it.
    offset, va = ((9, 0), "center") if last.card is None else ((15, -6), "top")
    style.say(axes, f"{line.optimizer}\n{line.keeps}", (last.batch, last.total / GB), offset, va=va)


def _draw_cards(axes: Axes, cards: list[Card], right: float) -> None:
    for card in cards:
        axes.axhline(card.vram / GB, color=style.INK, linewidth=1)
        text = f"{short_title(card)}, {gb(card.vram)}"
        style.say(axes, text, (right, card.vram / GB), (0, 2), ha="right")


def draw(inputs: Inputs) -> Picture:
    article, model = inputs.article.oom_cliff, inputs.article.inference["model"]
    cards = [inputs.cards[row["gpu"]] for row in article["rows"]]
    curves = {line: points(inputs, line.optimizer, cards) for line in _LINES}
    curves = {line: found for line, found in curves.items() if found}
    if not curves:
        raise AbsentError(f"a row Training/{model}/{PRECISION}/*/batch:*/seq:{article['seq']}")
    every = [point for found in curves.values() for point in found]

    figure = style.new_figure(5)
    axes = figure.subplots()
    right = _ROOM * max(point.batch for point in every)
    axes.set_xlim(0, right)
    _draw_cards(axes, cards, right)
    for line, found in curves.items():
        _draw_line(axes, line, found)
    axes.set_ylim(0, None)
    axes.set_xlabel(f"micro-batch, sequences of {article['seq']} tokens")
    axes.set_ylabel("taken from the card, GB")
    title = f"Training {model} in {PRECISION.upper()}"
    axes.set_title(title)
    style.level_grid(axes)

    marks = [
        f"{line.optimizer}, {short_title(point.card)}: {number(point.batch)}"
        for line, found in curves.items()
        for point in found
        if point.card
    ]
    return Picture(
        key="oom_cliff",
        title=f"OOM cliff. {title}",
        alt="A flat base, then memory grows with the batch. Largest batch: " + "; ".join(marks),
        caption=caption(
            inputs,
            [Cell({PREDICTED.key: point.total}) for point in every],
            f"^(Training|OomCliff)/{model}/{PRECISION}/",
            "GB is 1e9 bytes: the pool's peak with driver, context and libraries. A numbered mark "
            "is the largest batch that fits the card whose line it meets; no mark, none fits.",
            each_on_its_card=True,
        ),
        figure=figure,
    )
