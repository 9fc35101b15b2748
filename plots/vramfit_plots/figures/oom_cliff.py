"""The OOM cliff: memory against batch, the cards' sizes, and the largest batch on each, of vramfit
and of PyTorch."""

from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import caption, predicted_signature
from vramfit_plots.cards import Card
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, PREDICTED, TORCH, Source
from vramfit_plots.tables.oom_cliff import answers, short_title, taken
from vramfit_plots.units import GB, batch, gb, number

PRECISION = "fp16"
_ROOM = 1.04  # right of the last point
_HIGHEST = 1.08  # of the largest card: what is beyond fits none


@dataclass(frozen=True)
class Curve:
    """What a side takes with one optimizer."""

    name: str
    source: Source
    optimizer: str
    look: str  # matplotlib's for the line
    marker: str

    @property
    def color(self) -> str:
        return style.BY_SOURCE[self.source.key].color


CURVES = (
    Curve("vramfit, Adam, FP32 m and v", PREDICTED, "adamw", "-", "o"),
    Curve("vramfit, Adam, FP16 m and v", PREDICTED, "adamw-same", "--", "s"),
    Curve("vramfit, SGD", PREDICTED, "sgd", ":", "^"),
    Curve("PyTorch, Adam, FP16 m and v", TORCH, "adamw", "--", "s"),
    Curve("PyTorch, SGD", TORCH, "sgd", ":", "^"),
)


@dataclass(frozen=True)
class Point:
    batch: float
    total: float  # bytes the card has lost, driver included
    card: Card | None  # on which this is the largest batch


def points(inputs: Inputs, curve: Curve, cards: list[Card]) -> list[Point]:
    """By batch: the sweep's training rows, and the largest batch of each card."""
    model, seq = inputs.article.inference["model"], inputs.article.oom_cliff["seq"]
    start, end = f"Training/{model}/{PRECISION}/{curve.optimizer}/batch:", f"/seq:{seq}"
    prefix = curve.source.prefix
    # A training row runs on the run's own card; what the driver takes is assumed equal on all.
    driver = cards[0].driver_reserved
    found = []
    for name in inputs.run.rows.index:
        used = inputs.value(name, f"{prefix}device_used")
        if name.startswith(start) and name.endswith(end) and used and not inputs.value(name, "oom"):
            size = name.removeprefix(start).removesuffix(end)
            if "/" not in size:
                found.append(Point(inputs.run.parse(name).number("batch"), used + driver, None))
    for card in cards:
        row = f"OomCliff/{model}/{PRECISION}/{curve.optimizer}{end}/gpu:{card.name}"
        largest, total = inputs.value(row, f"{prefix}max_batch"), taken(inputs, row, prefix)
        if largest and total:
            found.append(Point(largest, total, card))
    return sorted(found, key=lambda point: (point.batch, point.card is not None))


def _draw_curve(axes: Axes, curve: Curve, found: list[Point]) -> None:
    batches, totals = [p.batch for p in found], [p.total / GB for p in found]
    axes.plot(batches, totals, curve.look, color=curve.color, linewidth=2)
    axes.plot([], [], curve.look, marker=curve.marker, color=curve.color, label=curve.name)
    for point in found:
        if point.card is None:
            continue
        at = (point.batch, point.total / GB)
        axes.plot(
            *at,
            curve.marker,
            color=curve.color,
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=1,
            zorder=3,
        )
        # PyTorch's curves are the steeper ones: their figures go to the right.
        beside, ha = ((4, -13), "left") if curve.source is TORCH else ((-4, -13), "right")
        style.say(axes, number(point.batch), at, beside, strong=True, ha=ha)


def _draw_cards(axes: Axes, cards: list[Card], right: float) -> None:
    for card in cards:
        axes.axhline(card.vram / GB, color=style.INK, linewidth=1)
        text = f"{short_title(card)}, {gb(card.vram)}"
        style.say(axes, text, (right, card.vram / GB), (0, 2), ha="right")


def finding(inputs: Inputs) -> str:
    """The article's first column on its largest card."""
    answer = answers(inputs)[-1][0]
    found = [
        f"{side} {'fits batch ' if value > 0 else ''}{batch(value)}"
        for side, source in (("vramfit", PREDICTED), ("PyTorch", TORCH))
        if (value := answer.cell.figure(source)) is not None
    ]
    said = [f"the article says {answer.cell.text(ARTICLE)}", *found]
    return f"{answer.heading} on {answer.vram}: {', '.join(said)}"


def draw(inputs: Inputs) -> Picture:
    article, model = inputs.article.oom_cliff, inputs.article.inference["model"]
    cards = [inputs.cards[row["gpu"]] for row in article["rows"]]
    curves = {curve: points(inputs, curve, cards) for curve in CURVES}
    highest = _HIGHEST * max(card.vram for card in cards)
    curves = {
        curve: shown
        for curve, found in curves.items()
        if (shown := [point for point in found if point.total <= highest])
    }
    if not curves:
        raise AbsentError(f"a row Training/{model}/{PRECISION}/*/batch:*/seq:{article['seq']}")
    every = [point for found in curves.values() for point in found]

    title = finding(inputs)
    figure = style.new_figure(4.3, title)
    axes = figure.subplots()
    right = _ROOM * max(point.batch for point in every)
    axes.set_xlim(0, right)
    _draw_cards(axes, cards, right)
    for curve, found in curves.items():
        _draw_curve(axes, curve, found)
    axes.set_ylim(0, highest / GB)
    axes.set_xlabel(f"micro-batch, sequences of {article['seq']} tokens")
    axes.set_ylabel("taken from the card, GB")
    axes.set_title(f"Training {model} in {PRECISION.upper()}, predicted")
    axes.legend(loc="lower right", ncols=2, fontsize=8.5)
    style.level_grid(axes)
    marks = [
        f"{curve.name}, {short_title(point.card)}: {number(point.batch)}"
        for curve, found in curves.items()
        for point in found
        if point.card
    ]
    return Picture(
        key="oom_cliff",
        title=title,
        alt="Largest batch: " + "; ".join(marks),
        caption=caption(
            inputs,
            f"^(Training|OomCliff)/{model}/{PRECISION}/",
            "What is taken is the pool's peak with driver, context and libraries, in GB (1e9 "
            "bytes). A numbered mark is the largest batch that fits the card whose line is the "
            "next above it; where a curve has no mark for a card, no batch fits it.",
        ),
        figure=figure,
        signature=predicted_signature(inputs),
    )
