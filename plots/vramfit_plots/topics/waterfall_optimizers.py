"""The article's waterfall with every optimizer of vramfit's that there are rows of."""

from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import command
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs, Reading
from vramfit_plots.reference import theirs_by_ours
from vramfit_plots.sources import OURS, SOURCES
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import GB, gb, gigabytes, number

_SIXTEEN_BITS = ("bf16", "fp16")  # of the same bytes; of as many rows the first
_COLUMNS = 3
_PANEL_INCHES, _AROUND_INCHES = 1.45, 1.2
_WIDTH = 0.4  # of bars
_KEY_COLUMNS = 2
_ROOM = 1.16  # for the figures above bars


def _stages(inputs: Inputs) -> list[str]:
    return [entry["stage"] for entry in inputs.article.waterfall["rows"]]


class Waterfall(Reading):
    """What one side allocates with an optimizer, on the card but for `host`. Bytes."""

    @property
    def optimizer(self) -> str:
        return self.row.split("/")[3]

    def after(self, stage: str) -> float:
        """A stage of step 1."""
        return self.counter(f"step1_{stage}_after")

    @property
    def states_per_parameter(self) -> float:
        """What stays between steps beside the weights."""
        model = self.inputs.models[self.inputs.article.waterfall["model"]]
        return (self.after("zero_grad") - self.after("loaded")) / model.parameters

    @property
    def whose(self) -> str:
        """In small type PyTorch's own name for it."""
        ours = self.source in OURS
        named = {} if ours else theirs_by_ours(self.inputs.run.fact("pytorch_optimizers"))
        theirs = named.get(self.optimizer)
        return f"{self.source.heading}\n{theirs}" if theirs else self.source.heading


@dataclass(frozen=True)
class Optimizers:
    inputs: Inputs
    precision: str
    by_optimizer: list[list[Waterfall]]  # those of the fewest states first

    @property
    def every(self) -> list[Waterfall]:
        return [waterfall for own in self.by_optimizer for waterfall in own]

    @property
    def pattern(self) -> str:
        family, model, _, _, *end = self.inputs.article.table_2_row.split("/")
        return f"^{family}/{model}/{self.precision}/[^/]+/{'/'.join(end)}$"

    @property
    def figures(self) -> dict[str, object]:
        """What is trained, for the words about it."""
        return {"case": self.inputs.run.parse(self.every[0].row).axes, "precision": self.precision}


def _with_ours(inputs: Inputs, precision: str) -> list[list[Waterfall]]:
    counters = ("allocated", *(f"step1_{stage}_after" for stage in _stages(inputs)))
    family, model, _, _, *end = inputs.article.table_2_row.split("/")
    found = []
    for row in inputs.names(family):
        parts = row.split("/")
        if parts[1:3] == [model, precision] and parts[4:] == end:
            found.append(inputs.best(Waterfall, row, *counters))
    return [own for own in found if own and own[0].source in OURS]


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
    columns = [
        Column("optimizer", "optimizer"),
        Column("whose", "whose", text=True),
        *(
            Column(entry["label"], lambda one, stage=entry["stage"]: one.after(stage), gb)
            for entry in inputs.article.waterfall["rows"]
        ),
        Column("peak of all steps", "allocated", gb),
        *([Column("in host\nmemory", lambda one: one.host or None, gb)] if on_host else []),
        Column("states\nB/param", "states_per_parameter", number, 2),
        Column("tokens/s", "tokens_per_second", number),
    ]
    rows = command(inputs, found.pattern)
    return [listing("waterfall_optimizers", columns, found.every, rows, **found.figures)]


def _bars(axes: Axes, waterfall: Waterfall, stages: list[str]) -> None:
    """After each stage, and the peak, whose figure stands above its bar."""
    ours = waterfall.source in OURS
    values = [*map(waterfall.after, stages), waterfall.allocated]
    places = [i + (-0.5 if ours else 0.5) * _WIDTH for i in range(len(values))]
    look = style.BY_SOURCE[waterfall.source.key]
    axes.bar(places, [value / GB for value in values], _WIDTH, **look.bar())
    at = (places[-1] + (0.5 if ours else -0.5) * _WIDTH, values[-1] / GB)
    away, side = ((-1, 2), "right") if ours else ((1, 2), "left")
    style.say(axes, gb(values[-1]), at, away, ha=side, size=7.5, strong=ours)


def _finding(found: Optimizers, model: str) -> str:
    """Of both sides the least and the most."""
    said = []
    for side in dict.fromkeys(one.side for one in found.every):
        own = sorted((one for one in found.every if one.side == side), key=lambda w: w.allocated)
        ends = (f"{gigabytes(w.allocated)} with {w.optimizer}" for w in (own[0], own[-1]))
        said.append(f"at {' and '.join(ends)} in {side}")
    return f"{model} peaks {', '.join(said)}"


def draw(inputs: Inputs) -> Picture:
    found, stages = load_optimizers(inputs), _stages(inputs)
    model, entries = inputs.article.waterfall["model"], inputs.article.waterfall["rows"]
    labels = [e["label"].removeprefix("after ").removeprefix("model ") for e in entries]
    title, count = _finding(found, model), len(found.by_optimizer)
    lines = -(-count // _COLUMNS)
    figure = style.new_figure(_AROUND_INCHES + _PANEL_INCHES * lines, title)
    panels = style.grid(figure, count, _COLUMNS, sharex=True, sharey=True)
    for axes, own in zip(panels, found.by_optimizer, strict=True):
        for waterfall in own:
            _bars(axes, waterfall, stages)
        states, host = round(own[0].states_per_parameter, 1), own[0].host
        taken = f"{gb(host)} GB on host" if host else f"{states:g} B/param"
        axes.set_title(f"{own[0].optimizer}, {taken}", fontsize=9)
        style.level_grid(axes)
    panels[0].set_ylim(0, _ROOM * max(one.allocated for one in found.every) / GB)
    for axes in figure.axes[-_COLUMNS:]:
        axes.set_xticks(range(len(stages) + 1), [*labels, "peak"], rotation=90, fontsize=9)
    for axes in panels[::_COLUMNS]:
        axes.set_ylabel("GB")
    sources = {one.source for one in found.every}
    style.key_of(figure, [s for s in SOURCES if s in sources], columns=_KEY_COLUMNS)
    said = [f"{w.optimizer}, {w.source.heading}: peak {gb(w.allocated)}" for w in found.every]
    key = "waterfall_optimizers"
    return drawn(inputs, key, title, figure, said, unit="GB", model=model, **found.figures)
