"""What each of several GPUs takes: by optimizer as Table 4 counts it, level by level, and what its
peak is made of, by strategy, beside what cards have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.article import shrinks
from vramfit_plots.captions import Caption, caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.inputs import Inputs
from vramfit_plots.several_gpus import FAMILY, NAMES, PER_PARAMETER, Spread
from vramfit_plots.sources import (
    COUNTED,
    MEASURED,
    OURS,
    TORCH,
    TORCH_MEASURED,
    Source,
    best_of_each_side,
)
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.topics.scaling import PATTERN, every_spread, named, out_of_memory
from vramfit_plots.units import GB, OOM, gb, gigabytes, in_words, number

_HELD = "step1_optimizer_after"
_CARDS = ("rtx4090", "a100-40gb", "rtx6000-ada", "h100-80gb", "h200")
_OPTIMIZER = next(iter(PER_PARAMETER))
_BAR_INCHES, _AROUND_INCHES = 0.24, 1.9
_THICKNESS = 0.86
_ROOM = 1.1  # for the figures at the bars' ends
_BEYOND = style.Look("#f2f2f2", "", "#8a8a8a")  # what no tensor takes
_DRAWN = (OURS, (TORCH,))  # of PyTorch nobody measured what a peak is made of


def _figure(inputs: Inputs, one: Spread, source: Source, counter: str) -> str | None:
    if out_of_memory(inputs, one, source):
        return OOM
    value = inputs.of(one.row, source, counter)
    return None if value is None else gb(value)


def _said_by_the_article(inputs: Inputs, one: Spread) -> str | None:
    """At 8 bytes a parameter its table, at 16 its code: the strategies that it has."""
    article, per_parameter = inputs.article.multi_gpu, PER_PARAMETER[one.optimizer]
    codes = {"data-parallel": "ddp"}
    rows = [r for r in article["rows"] if codes.get(r["code"], r["code"]) == one.strategy]
    cells = [cell for row in rows[:1] for cell in row["cells"] if cell["gpus"] == one.gpus]
    if not cells or per_parameter not in {8, 16}:
        return None
    if per_parameter == 8:
        return number(cells[0]["memory"])
    assumed = inputs.article.assumed_parameters()[article["model"]]
    return gb(16 * assumed / (one.gpus if shrinks(rows[0]) else 1))


def _by_optimizer(inputs: Inputs) -> Table:
    model = inputs.article.multi_gpu["model"]
    every = [
        one
        for one in every_spread(inputs)
        if one.model == model
        and not one.form
        and one.optimizer in PER_PARAMETER
        and any(_figure(inputs, one, source, _HELD) for source in COUNTED)
    ]
    columns = [
        Column("strategy", lambda one: f"{NAMES[one.strategy]}, {one.gpus} GPUs\n{one.optimizer}"),
        Column("B/param", lambda one: PER_PARAMETER[one.optimizer]),
        Column("article", lambda one: _said_by_the_article(inputs, one)),
        *(
            Column(source.heading, lambda one, source=source: _figure(inputs, one, source, _HELD))
            for source in COUNTED
        ),
    ]
    note = (
        f"GB (1e9 bytes) of {model}'s weights, gradients and optimizer states on each GPU, after "
        "the first step of the optimizer. The article is its table at 8 B/param, its code at 16. "
        "PyTorch's AdamW has states in the weights' type, 8 B/param in 16 bits and 16 in FP32 "
        "under autocast or mixed precision; its DDP holds gradients again in buckets. Of a "
        "pipeline it is the GPU whose peak is highest: others keep fewer activations and more "
        "weights."
    )
    title, below = "Table 4 at 8, 12 and 16 bytes a parameter", caption(inputs, PATTERN, note)
    return listing("table4_optimizers", title, columns, every, below)


def _levels(inputs: Inputs) -> Table:
    def level(counter: str) -> Callable[[tuple[Spread, Source]], str | None]:
        return lambda line: _figure(inputs, *line, counter)

    def of_nccl(line: tuple[Spread, Source]) -> float | None:
        return inputs.value(line[0].row, "mem_nccl") if line[1] is MEASURED else None

    columns = (
        Column("strategy", lambda line: named(line[0])),
        Column("whose", lambda line: line[1].heading, text=True),
        Column("allocated", level("allocated")),
        Column("reserved", level("reserved")),
        Column("device used", level("device_used")),
        Column("of it NCCL's", of_nccl, gb),
    )
    lines = [
        (one, source)
        for one in every_spread(inputs)
        for source in COUNTED
        if inputs.of(one.row, source, "allocated") is not None
    ]
    note = (
        "GB (1e9 bytes) of each GPU at the peak of two steps: activations and what is gathered are "
        "in it. PyTorch's are of its first GPU."
    )
    title, below = "What each GPU takes, level by level", caption(inputs, PATTERN, note)
    return listing("table4_levels", title, columns, lines, below, long=True)


def _measured(inputs: Inputs) -> Table:
    def of(counter: str) -> Callable[[Spread], float | None]:
        return lambda one: inputs.of(one.row, TORCH_MEASURED, counter)

    def per_parameter(one: Spread) -> float | None:
        held = inputs.of(one.row, TORCH_MEASURED, _HELD)
        return None if held is None else held * one.gpus / inputs.models[one.model].parameters

    columns = (
        Column("strategy", named),
        Column("after the optimizer's step\nGB", of(_HELD), gb),
        Column("over all GPUs\nB/param", per_parameter, number, 1),
        Column("peak of all steps\nGB", of("allocated"), gb),
        Column("tokens/s\nof all GPUs", of("tokens_per_second"), number),
    )
    every = [one for one in every_spread(inputs) if of("allocated")(one) is not None]
    below = Caption(
        "GB (1e9 bytes) allocated on each GPU; weights, gradients and AdamW's states of one type, "
        "which under adamw-master is FP32. The peak has activations and, in FSDP, the parameters "
        "that are gathered."
    )
    title = "Table 4: PyTorch on several GPUs, as measured"
    return listing("table4_measured", title, columns, every, below)


def build(inputs: Inputs) -> list[Table]:
    return [_by_optimizer(inputs), _levels(inputs), _measured(inputs)]


@dataclass(frozen=True)
class _Bar:
    spread: Spread
    source: Source
    parts: dict[str, float]  # by category, bytes
    taken: float  # of the card

    @property
    def allocated(self) -> float:
        return sum(self.parts.values())


def _bar(inputs: Inputs, one: Spread, source: Source) -> _Bar | None:
    taken = inputs.of(one.row, source, "device_used")
    if taken is None or out_of_memory(inputs, one, source):
        return None
    parts = {name: inputs.of(one.row, source, name) or 0.0 for name in style.BY_CATEGORY}
    return _Bar(one, source, parts, taken)


def _cases(inputs: Inputs) -> dict[int, list[list[_Bar]]]:
    """Of the article's model, by the number of GPUs, each strategy's."""
    model = inputs.article.multi_gpu["model"]
    cases: dict[int, list[list[_Bar]]] = {}
    for one in every_spread(inputs):
        if (one.model, one.optimizer, one.form) != (model, _OPTIMIZER, ()):
            continue
        own = best_of_each_side(lambda source, one=one: _bar(inputs, one, source), _DRAWN)
        if own:
            cases.setdefault(one.gpus, []).append(own)
    if not cases:
        raise AbsentError(f"{FAMILY}/{model}/*/{_OPTIMIZER}/*")
    return cases


def _draw_bar(axes: Axes, bar: _Bar, y: float) -> None:
    left = 0.0
    for name, value in bar.parts.items():
        if value > 0:
            axes.barh(y, value / GB, _THICKNESS, left / GB, **style.BY_CATEGORY[name].bar())
        left += value
    beyond = max(0.0, bar.taken - left)
    axes.barh(y, beyond / GB, _THICKNESS, left / GB, **_BEYOND.bar())
    end, text = (max(left, bar.taken) / GB, y), f"{gb(bar.taken)}  {bar.source.side}"
    style.say(axes, text, end, (3, 0), va="center", size=8, over_lines=True)


def _panel(axes: Axes, groups: Sequence[Sequence[_Bar]], gpus: int) -> None:
    places, names = bars.places(map(len, groups)), []
    for start, own in zip(places.starts, groups, strict=True):
        for j, bar in enumerate(own):
            _draw_bar(axes, bar, start + j + 0.5)
        micro = own[0].spread.micro_batches
        name = NAMES[own[0].spread.strategy].replace(" / ", " /\n")
        names.append(name + (f",\n{micro} micro-batches" if micro > 1 else ""))
    places.name(axes, names)
    axes.tick_params(length=0)
    axes.set_title(f"{gpus} GPUs", pad=16)


def _cards(axes: Axes, inputs: Inputs, end: float) -> None:
    for name in _CARDS:
        vram = inputs.cards[name].vram / GB
        if vram < end:
            axes.axvline(vram, color=style.INK, linewidth=0.9, linestyle="--", zorder=0.5)
            size = inputs.cards[name].vram / 2**30
            label = f"{size:.0f}" + (" GiB" if name == _CARDS[0] else "")
            where = {"xycoords": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
            style.say(axes, label, (vram, 1), (0, 2), size=7.5, faint=True, **where)


def _finding(cases: dict[int, list[list[_Bar]]], model: str) -> str:
    """The least and the most that vramfit takes of a GPU, where there are fewest."""
    gpus = min(cases)
    firsts = [own[0] for own in cases[gpus]]
    ours = [bar for bar in firsts if bar.source is not TORCH] or firsts
    ours.sort(key=lambda bar: bar.taken)
    ends = in_words(
        f"{gigabytes(bar.taken)} with {NAMES[bar.spread.strategy]}" for bar in (ours[-1], ours[0])
    )
    return f"On {gpus} GPUs training {model} takes, of each, {ends}"


def _whose(every: Sequence[_Bar]) -> str:
    """How vramfit's figures came about, by the number of GPUs."""
    own = [bar for bar in every if bar.source is not TORCH]
    measured = sorted({bar.spread.gpus for bar in own if bar.source is MEASURED})
    if not measured:
        return "predicted too"
    if all(bar.source is MEASURED for bar in own):
        return "measured"
    return f"measured on {in_words(map(str, measured))} GPUs, predicted elsewhere"


def draw(inputs: Inputs) -> Picture:
    cases = _cases(inputs)
    model = inputs.article.multi_gpu["model"]
    every = [bar for groups in cases.values() for own in groups for bar in own]
    title = _finding(cases, model)
    heights = [bars.places(map(len, groups)).end + bars.NARROW for groups in cases.values()]
    figure = style.new_figure(_AROUND_INCHES + _BAR_INCHES * sum(heights), title)
    panels = figure.subplots(
        len(cases), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
    )[:, 0]
    end = _ROOM * max(bar.taken for bar in every) / GB
    for axes, (gpus, groups) in zip(panels, cases.items(), strict=True):
        _panel(axes, groups, gpus)
        _cards(axes, inputs, end)
        axes.set_xlim(0, end)
    panels[-1].set_xlabel("memory of each GPU at the peak, GB")
    seen = {name for bar in every for name, value in bar.parts.items() if value > 0.002 * bar.taken}
    looks = [(name, look) for name, look in style.BY_CATEGORY.items() if name in seen]
    looks.append(("beyond tensors", _BEYOND))
    style.key(figure, [(name.replace("_", " "), look.patch()) for name, look in looks], 4)
    one = every[0].spread
    said = [
        f"{NAMES[bar.spread.strategy]} on {bar.spread.gpus} GPUs, {bar.source.heading}: "
        f"{gb(bar.allocated)} allocated, {gb(bar.taken)} of the card"
        for bar in every
    ]
    note = (
        f"{model} in {one.precision.upper()} with {one.optimizer}, {PER_PARAMETER[one.optimizer]} "
        f"bytes a parameter, batch {one.batch} of {one.seq} tokens on each GPU: what its peak is "
        "made of, GB (1e9 bytes), and what the card loses beyond it. PyTorch's are predicted; "
        f"vramfit's are {_whose(every)}. Beyond tensors are pool, context, libraries and NCCL. "
        "Dashed lines are cards' sizes."
    )
    return drawn(inputs, "sharded", title, figure, said=said, rows=PATTERN, note=note, unit="GB")
