"""What each of several GPUs takes: by optimizer as Table 4 counts it, level by level, and what its
peak is made of, by strategy, beside what cards have."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes

from vramfit_plots.article import shrinks
from vramfit_plots.captions import command
from vramfit_plots.figures import bars, style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.rows import FAMILY, NAMES, PER_PARAMETER, Spread
from vramfit_plots.sources import COUNTED, MEASURED, OURS, TORCH, TORCH_MEASURED, Source
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.topics.scaling import PATTERN, Each, every_spread, named
from vramfit_plots.units import GB, OOM, gb, gigabytes, in_words, number

_HELD = "step1_optimizer_after"
_CARDS = ("rtx4090", "a100-40gb", "rtx6000-ada", "h100-80gb", "h200")
_OPTIMIZER = next(iter(PER_PARAMETER))
_BAR_INCHES, _AROUND_INCHES = 0.24, 1.9
_THICKNESS = 0.86
_ROOM = 1.1  # for the figures at the bars' ends
_BEYOND = style.Look("#f2f2f2", "", "#8a8a8a")  # what no tensor takes
_DRAWN = (OURS, (TORCH,))  # of PyTorch nobody measured what a peak is made of


def _figure(one: Each, counter: str) -> str | None:
    value = one.counter(counter)
    if one.out_of_memory:
        return OOM
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

    def held(one: Spread, source: Source) -> str | None:
        return _figure(Each(inputs, one.row, source), _HELD)

    every = [
        one
        for one in every_spread(inputs)
        if one.model == model
        and not one.form
        and one.optimizer in PER_PARAMETER
        and any(held(one, source) for source in COUNTED)
    ]
    columns = [
        Column("strategy", lambda one: f"{NAMES[one.strategy]}, {one.gpus} GPUs\n{one.optimizer}"),
        Column("B/param", lambda one: PER_PARAMETER[one.optimizer]),
        Column("article", lambda one: _said_by_the_article(inputs, one)),
        *(Column(s.heading, lambda one, source=s: held(one, source)) for s in COUNTED),
    ]
    return listing("table4_optimizers", columns, every, command(inputs, PATTERN), model=model)


def _levels(inputs: Inputs) -> Table:
    def level(counter: str) -> Callable[[Each], str | None]:
        return lambda one: _figure(one, counter)

    columns = (
        Column("strategy", lambda one: named(one.spread)),
        Column("whose", "source.heading", text=True),
        Column("allocated", level("allocated")),
        Column("reserved", level("reserved")),
        Column("device used", level("device_used")),
        Column("of it NCCL's", lambda one: one.nccl if one.source is MEASURED else None, gb),
    )
    every = [Each(inputs, one.row, source) for one in every_spread(inputs) for source in COUNTED]
    known = [one for one in every if one.allocated is not None]
    return listing("table4_levels", columns, known, command(inputs, PATTERN), long=True)


def _measured(inputs: Inputs) -> Table:
    def per_parameter(one: Each) -> float | None:
        held, model = one.counter(_HELD), inputs.models[one.spread.model]
        return held and held * one.spread.gpus / model.parameters

    columns = (
        Column("strategy", lambda one: named(one.spread)),
        Column("after the optimizer's step\nGB", _HELD, gb),
        Column("over all GPUs\nB/param", per_parameter, number, 1),
        Column("peak of all steps\nGB", "allocated", gb),
        Column("tokens/s\nof all GPUs", "tokens_per_second", number),
    )
    every = [Each(inputs, one.row, TORCH_MEASURED) for one in every_spread(inputs)]
    return listing("table4_measured", columns, [one for one in every if one.allocated is not None])


def build(inputs: Inputs) -> list[Table]:
    return [_by_optimizer(inputs), _levels(inputs), _measured(inputs)]


def _parts(bar: Each) -> dict[str, float]:
    """What a peak is made of, by category. Bytes."""
    return {name: bar.counter(name) or 0.0 for name in style.BY_CATEGORY}


def _cases(inputs: Inputs) -> dict[int, list[list[Each]]]:
    """Of the article's model, by the number of GPUs, each strategy's."""
    model = inputs.article.multi_gpu["model"]
    cases: dict[int, list[list[Each]]] = {}
    for one in every_spread(inputs):
        if (one.model, one.optimizer, one.form) != (model, _OPTIMIZER, ()):
            continue
        sides = ([s for s in side if not Each(inputs, one.row, s).out_of_memory] for side in _DRAWN)
        if own := inputs.best(Each, one.row, "device_used", among=list(sides)):
            cases.setdefault(one.gpus, []).append(own)
    if not cases:
        raise AbsentError(f"{FAMILY}/{model}/*/{_OPTIMIZER}/*")
    return cases


def _draw_bar(axes: Axes, bar: Each, y: float) -> None:
    parts, taken = _parts(bar), bar.device_used
    pieces = [(value / GB, style.BY_CATEGORY[name]) for name, value in parts.items() if value > 0]
    beyond = max(0.0, taken - sum(parts.values())) / GB
    end = style.stack(axes, y, [*pieces, (beyond, _BEYOND)], _THICKNESS)
    text = f"{gb(taken)}  {bar.side}"
    style.say(axes, text, (end, y), (3, 0), va="center", size=8, over_lines=True)


def _panel(axes: Axes, groups: Sequence[Sequence[Each]], gpus: int) -> None:
    places, names = bars.places(map(len, groups)), []
    for y, bar in bars.each(groups, places):
        _draw_bar(axes, bar, y)
    for own in groups:
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
            unit = " GiB" if name == _CARDS[0] and not style.is_narrow() else ""
            label = f"{size:.0f}{unit}"
            where = {"xycoords": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
            style.say(axes, label, (vram, 1), (0, 2), size=7.5, faint=True, **where)


def _finding(cases: dict[int, list[list[Each]]], model: str) -> str:
    """The least and the most that vramfit takes of a GPU, where there are fewest."""
    gpus = min(cases)
    firsts = [own[0] for own in cases[gpus]]
    ours = [bar for bar in firsts if bar.source is not TORCH] or firsts
    ours.sort(key=lambda bar: bar.device_used)
    ends = in_words(
        f"{gigabytes(bar.device_used)} with {NAMES[bar.spread.strategy]}"
        for bar in (ours[-1], ours[0])
    )
    return f"On {gpus} GPUs training {model} takes, of each, {ends}"


def _whose(every: Sequence[Each]) -> str:
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
    panels = style.grid(figure, len(cases), 1, sharex=True, height_ratios=heights)
    end = _ROOM * max(bar.device_used for bar in every) / GB
    for axes, (gpus, groups) in zip(panels, cases.items(), strict=True):
        _panel(axes, groups, gpus)
        _cards(axes, inputs, end)
        axes.set_xlim(0, end)
    panels[-1].set_xlabel("memory of each GPU at the peak, GB")
    parts = {bar: _parts(bar) for bar in every}
    seen = {
        name
        for bar in every
        for name, value in parts[bar].items()
        if value > 0.002 * bar.device_used
    }
    looks = [(name, look) for name, look in style.BY_CATEGORY.items() if name in seen]
    looks.append(("beyond tensors", _BEYOND))
    style.key(figure, [(name.replace("_", " "), look.patch()) for name, look in looks], 4)
    one = every[0].spread
    said = [
        f"{NAMES[bar.spread.strategy]} on {bar.spread.gpus} GPUs, {bar.source.heading}: "
        f"{gb(sum(parts[bar].values()))} allocated, {gb(bar.device_used)} of the card"
        for bar in every
    ]
    about = {"one": one, "each": PER_PARAMETER[one.optimizer], "whose": _whose(every)}
    return drawn(inputs, "sharded", title, figure, said, unit="GB", **about)
