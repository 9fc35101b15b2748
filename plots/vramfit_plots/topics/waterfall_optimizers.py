"""The article's waterfall with every optimizer of vramfit's that there are rows of."""

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.inputs import Inputs
from vramfit_plots.pytorch_rows import theirs_by_ours
from vramfit_plots.sources import OURS, SOURCES, Source, best_of_each_side
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.units import GB, gb, gigabytes, number

_SIXTEEN_BITS = ("bf16", "fp16")  # of the same bytes; of as many rows the first
_COLUMNS = 3
_PANEL_INCHES, _AROUND_INCHES = 1.45, 1.2
_WIDTH = 0.4  # of bars
_KEY_COLUMNS = 2
_ROOM = 1.16  # for the figures above bars


@dataclass(frozen=True)
class Waterfall:
    """What one side allocates with an optimizer, on the card but for `host`. Bytes."""

    optimizer: str
    source: Source
    row: str
    after: Mapping[str, float]  # by stage of step 1
    peak: float  # of all steps
    host: float  # taken of the host's memory
    params: int
    tokens_per_second: float | None

    @property
    def states_per_parameter(self) -> float:
        """What stays between steps beside the weights."""
        return (self.after["zero_grad"] - self.after["loaded"]) / self.params


@dataclass(frozen=True)
class Optimizers:
    inputs: Inputs
    precision: str
    by_optimizer: list[list[Waterfall]]  # those of the fewest states first

    @property
    def model(self) -> str:
        return self.inputs.article.waterfall["model"]

    @property
    def every(self) -> list[Waterfall]:
        return [waterfall for own in self.by_optimizer for waterfall in own]

    @property
    def pattern(self) -> str:
        model, _, _, *end = _axes(self.inputs)
        return f"^Training/{model}/{self.precision}/[^/]+/{'/'.join(end)}$"

    def whose(self, waterfall: Waterfall) -> str:
        """In small type PyTorch's own name for it."""
        ours = waterfall.source in OURS
        named = {} if ours else theirs_by_ours(self.inputs.run.fact("pytorch_optimizers"))
        theirs = named.get(waterfall.optimizer)
        heading = waterfall.source.heading
        return f"{heading}\n{theirs}" if theirs else heading


def _axes(inputs: Inputs) -> list[str]:
    """Those of the article's row: model, precision, optimizer, …"""
    return inputs.article.table_2_row.split("/")[1:]


def _rows(inputs: Inputs, precision: str) -> dict[str, str]:
    """By optimizer."""
    model, _, _, *end = _axes(inputs)
    found = {}
    for row in inputs.rows.index:
        parts = row.split("/")
        if parts[:3] == ["Training", model, precision] and parts[4:] == end:
            found[parts[3]] = row
    return found


def _of(inputs: Inputs, optimizer: str, row: str, source: Source) -> Waterfall | None:
    stages = [entry["stage"] for entry in inputs.article.waterfall["rows"]]
    after = inputs.all_of(row, source, *(f"step1_{stage}_after" for stage in stages))
    peak = inputs.of(row, source, "allocated")
    if after is None or peak is None:
        return None
    return Waterfall(
        optimizer,
        source,
        row,
        after=dict(zip(stages, after, strict=True)),
        peak=peak,
        host=inputs.of(row, source, "host") or 0,
        params=inputs.models[inputs.article.waterfall["model"]].parameters,
        tokens_per_second=inputs.speed(row, source),
    )


def _with_ours(inputs: Inputs, precision: str) -> list[list[Waterfall]]:
    every = (
        best_of_each_side(lambda source, name=name, row=row: _of(inputs, name, row, source))
        for name, row in _rows(inputs, precision).items()
    )
    return [own for own in every if own and own[0].source in OURS]


def load_optimizers(inputs: Inputs) -> Optimizers:
    found = {precision: _with_ours(inputs, precision) for precision in _SIXTEEN_BITS}
    precision = max(_SIXTEEN_BITS, key=lambda one: len(found[one]))
    if not found[precision]:
        raise AbsentError(inputs.article.table_2_row)
    found[precision].sort(key=lambda own: (own[0].states_per_parameter, own[0].optimizer))
    return Optimizers(inputs, precision, found[precision])


def build(inputs: Inputs) -> list[Table]:
    found = load_optimizers(inputs)
    on_host = any(waterfall.host for waterfall in found.every)
    case = inputs.run.parse(found.every[0].row)
    columns = [
        Column("optimizer", "optimizer"),
        Column("whose", found.whose, text=True),
        *(
            Column(entry["label"], lambda w, stage=entry["stage"]: w.after[stage], gb)
            for entry in inputs.article.waterfall["rows"]
        ),
        Column("peak of all steps", "peak", gb),
        *([Column("in host\nmemory", lambda w: w.host or None, gb)] if on_host else []),
        Column("states\nB/param", "states_per_parameter", number, 2),
        Column("tokens/s", "tokens_per_second", number),
    ]
    note = (
        f"Training {case.text('model')} in {found.precision.upper()}, batch {case.text('batch')} "
        f"of {case.text('seq')} tokens: GB (1e9 bytes) allocated after each stage of step 1. An "
        "optimizer is named after what vramfit keeps for it; below PyTorch stands which of its own "
        "is set beside, whose states have the weights' type unless they have 8 bits. Under "
        "autocast the FP32 weights are the parameters. States are what stays between steps beside "
        "what was loaded."
    )
    title, below = "The waterfall for every optimizer", caption(inputs, found.pattern, note)
    return [listing("waterfall_optimizers", title, columns, found.every, below)]


def _bars(axes: Axes, waterfall: Waterfall, highest: float) -> None:
    """After each stage, and the peak, whose figure stands above its bar."""
    ours = waterfall.source in OURS
    look = style.BY_SOURCE[waterfall.source.key]
    values = [*waterfall.after.values(), waterfall.peak]
    places = [i + (-0.5 if ours else 0.5) * _WIDTH for i in range(len(values))]
    axes.bar(places, [value / GB for value in values], _WIDTH, **look.bar())
    inner = places[-1] + (0.5 if ours else -0.5) * _WIDTH
    at, away = (inner, waterfall.peak / GB), (-1 if ours else 1, 2)
    side = "right" if ours else "left"
    style.say(axes, gb(waterfall.peak), at, away, ha=side, size=7.5, strong=ours)
    axes.set_ylim(0, _ROOM * highest / GB)


def _panel(axes: Axes, own: list[Waterfall], highest: float) -> None:
    for waterfall in own:
        _bars(axes, waterfall, highest)
    states = round(own[0].states_per_parameter, 1)
    host = f", {gb(own[0].host)} GB of the host's" if own[0].host else ""
    axes.set_title(f"{own[0].optimizer}, {states:g} B/param{host}", fontsize=9)
    style.level_grid(axes)


def _finding(found: Optimizers) -> str:
    """Of both sides the least and the most."""
    said = []
    for side in dict.fromkeys(waterfall.source.side for waterfall in found.every):
        own = sorted((w for w in found.every if w.source.side == side), key=lambda w: w.peak)
        ends = " and ".join(f"{gigabytes(w.peak)} with {w.optimizer}" for w in (own[0], own[-1]))
        said.append(f"at {ends} in {side}")
    return f"{found.model} peaks {', '.join(said)}"


def draw(inputs: Inputs) -> Picture:
    found = load_optimizers(inputs)
    labels = [entry["label"].removeprefix("after ") for entry in inputs.article.waterfall["rows"]]
    labels = [*(label.removeprefix("model ") for label in labels), "peak"]
    highest, title = max(waterfall.peak for waterfall in found.every), _finding(found)
    lines = -(-len(found.by_optimizer) // _COLUMNS)
    figure = style.new_figure(_AROUND_INCHES + _PANEL_INCHES * lines, title)
    panels = figure.subplots(lines, _COLUMNS, sharex=True, sharey=True, squeeze=False)
    for axes, own in zip(panels.flat, found.by_optimizer, strict=False):
        _panel(axes, own, highest)
    for axes in panels.flat[len(found.by_optimizer) :]:
        axes.set_visible(False)
    for axes in panels[-1]:
        axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=9)
    for axes in panels[:, 0]:
        axes.set_ylabel("GB")
    sources = {waterfall.source for waterfall in found.every}
    style.key_of(figure, [s for s in SOURCES if s in sources], columns=_KEY_COLUMNS)
    said = [f"{w.optimizer}, {w.source.heading}: peak {gb(w.peak)}" for w in found.every]
    note = (
        f"Training {found.model} in {found.precision.upper()}: GB (1e9 bytes) allocated after each "
        "stage of step 1, and the peak of all steps, whose figure stands above it. B/param are the "
        "optimizer's states in vramfit; PyTorch's have the weights' type."
    )
    key, rows = "waterfall_optimizers", found.pattern
    return drawn(inputs, key, title, figure, said=said, rows=rows, note=note, unit="GB")
