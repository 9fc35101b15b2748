"""What activation checkpointing saves of memory, and what it costs of time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import family
from vramfit_plots.sources import (
    ARTICLE,
    OURS,
    TIMED,
    TORCH,
    TORCH_MEASURED,
    Source,
    best_of_each_side,
)
from vramfit_plots.strategies import Strategy, strategy_of
from vramfit_plots.tables.article_table import Footnotes
from vramfit_plots.tables.table import Column, Table, listing
from vramfit_plots.units import MISSING, gb, number, percent, share, times

NONE = "none"
_AXES = ("checkpoint:", "every:")
_HEIGHT = 3.9
_WIDE = 2.0  # percent of time: how wide the article's claim is drawn
_ROOM = 1.3  # right of the last point, for its name


@dataclass(frozen=True)
class Forward:
    """What one side takes of a case with one way of checkpointing. Bytes."""

    case: str  # the row without checkpointing
    way: str  # "none", "full", "selective, 1 block of 2"
    source: Source
    kept: float  # by the forward pass, the model apart
    peak: float  # of all steps
    at_peak: float | None  # of it, activations and workspace
    at_peak_by: Source  # who says so: PyTorch's measurements have totals alone
    tokens_per_second: float | None


@dataclass(frozen=True)
class Pair:
    """With checkpointing beside without; or that beside itself."""

    forward: Forward
    plain: Forward

    @property
    def is_plain(self) -> bool:
        return self.forward.way == NONE

    @property
    def kept(self) -> float:
        """As a share of what is kept without."""
        return self.forward.kept / self.plain.kept

    @property
    def peak(self) -> float:
        return self.forward.peak / self.plain.peak

    @property
    def time(self) -> float | None:
        """More of a step's time, as a share of it."""
        fast, slow = self.plain.tokens_per_second, self.forward.tokens_per_second
        return fast / slow - 1 if fast and slow else None


def plain_row(row: str) -> str:
    """The same without checkpointing."""
    return "/".join(part for part in row.split("/") if not part.startswith(_AXES))


def _of(inputs: Inputs, row: str, strategy: Strategy, source: Source) -> Forward | None:
    found = inputs.all_of(row, source, "step1_forward_after", "step1_loaded_after", "allocated")
    if found is None or found[0] <= found[1]:
        return None
    after, loaded, peak = found
    parts = TORCH if source is TORCH_MEASURED else source
    activations = inputs.of(row, parts, "activations")
    workspace = inputs.of(row, parts, "workspace") or 0.0
    return Forward(
        case=plain_row(row),
        way=strategy.checkpointing,
        source=source,
        kept=after - loaded,
        peak=peak,
        at_peak=None if activations is None else activations + workspace,
        at_peak_by=parts,
        tokens_per_second=inputs.speed(row, source),
    )


def _pairs(inputs: Inputs, row: str) -> list[Pair]:
    """With and without are of one source."""
    strategy = strategy_of(inputs.run.parse(row))

    def pair(source: Source) -> Pair | None:
        forward = _of(inputs, row, strategy, source)
        plain = _of(inputs, plain_row(row), strategy.stored, source)
        return Pair(forward, plain) if forward and plain else None

    return best_of_each_side(pair)


def load_pairs(inputs: Inputs) -> dict[str, list[Pair]]:
    """By case, vramfit's before PyTorch's and what keeps most first; each side begins with the
    case as it is. Cases that nobody measured are left out: checkpointing is asked for its time."""
    found: dict[str, list[Pair]] = {}
    for row in inputs.rows.index:
        if family(row) == "Training" and plain_row(row) != row:
            for pair in _pairs(inputs, row):
                found.setdefault(pair.plain.case, []).append(pair)
    cases = {}
    for case, pairs in found.items():
        if any(pair.forward.source in TIMED for pair in pairs):
            plain = {pair.plain.source: Pair(pair.plain, pair.plain) for pair in pairs}
            cases[case] = sorted([*plain.values(), *pairs], key=_order)
    if not cases:
        raise AbsentError("rows Training/…/checkpoint:… that were measured")
    return cases


def _order(pair: Pair) -> tuple[bool, str, float]:
    source = pair.forward.source
    return source.side == TORCH.side, source.key, -pair.kept


def of_article(inputs: Inputs, cases: dict[str, list[Pair]]) -> list[Pair]:
    """Those of the case that the article's claims are judged by."""
    case = plain_row(inputs.article.claim("checkpointing_memory")["near"]["row"])
    if case not in cases:
        raise AbsentError(f"{case}/checkpoint:… measured")
    return cases[case]


def _case(inputs: Inputs, row: str) -> str:
    name = inputs.run.parse(row)
    size = times(name.number("batch"), f"{name.number('seq'):,}")
    return f"{strategy_of(name).words('seq')}\n{size} tokens"


def _at_peak(forward: Forward, footnotes: Footnotes) -> str:
    if forward.at_peak is None:
        return MISSING
    figure, by = gb(forward.at_peak, 2), forward.at_peak_by
    return figure if by is forward.source else footnotes.signed(figure, by.heading)


def build(inputs: Inputs) -> list[Table]:
    pairs = [pair for pairs in load_pairs(inputs).values() for pair in pairs]
    footnotes = Footnotes()
    at_peak = {id(pair): _at_peak(pair.forward, footnotes) for pair in pairs}
    columns = (
        Column("case", lambda pair: _case(inputs, pair.forward.case)),
        Column("computed again", "forward.way", text=True),
        Column("whose", "forward.source.heading", text=True),
        Column("kept by forward\nGB", "forward.kept", gb, 2),
        Column("times less", lambda pair: None if pair.is_plain else 1 / pair.kept, number, 1),
        Column("activations and workspace at the peak\nGB", lambda pair: at_peak[id(pair)]),
        Column("peak of all steps\nGB", "forward.peak", gb),
        Column("peak against none", lambda p: None if p.is_plain else p.peak - 1, percent, 0),
        Column("time against none", lambda p: None if p.is_plain else p.time, percent, 0),
    )
    note = (
        f"{footnotes.text} The article says 5 to 10 times less activation memory for about 30 % "
        "more time. Kept by forward is what stands after the first forward pass beyond the model. "
        "Where every block computes all again, full training's peak moves to the end of backward: "
        "gradients are there, and few activations. Selective computes again what the MLP's first "
        "half wrote."
    )
    title = "Activation checkpointing: memory saved, time paid"
    below = caption(inputs, "^Training/.*/checkpoint:", note.strip())
    return [listing("checkpointing", title, columns, pairs, below)]


def _name(pair: Pair) -> str:
    return pair.forward.way.replace("1 block of ", "1 of ")


def _points(axes: Axes, pairs: Sequence[Pair], part: Callable[[Pair], float]) -> None:
    """Below its point stands the name of where vramfit computes all of a block again."""
    for pair in pairs:
        if pair.time is None:
            continue
        source = pair.forward.source
        at = (100 * pair.time, 100 * part(pair))
        axes.plot(*at, "o", color=style.BY_SOURCE[source.key].color, markersize=6, zorder=3)
        below = pair.forward.way.startswith("full") and source in OURS
        away = (4, -11 if below else 4)
        style.say(axes, _name(pair), at, away, size=8, over_lines=True)


def _line(axes: Axes, pairs: Sequence[Pair], part: Callable[[Pair], float]) -> None:
    """From none through every k-th block to all, for each kind."""
    look = style.BY_SOURCE[pairs[0].forward.source.key]
    by_kind = {pair: pair.forward.way.split(",")[0] for pair in pairs}
    for kind in dict.fromkeys(by_kind.values()):
        own = [p for p in pairs if p.time is not None and by_kind[p] in {kind, NONE}]
        own.sort(key=lambda pair: pair.time)
        places = [(100 * pair.time, 100 * part(pair)) for pair in own]
        axes.plot(*zip(*places, strict=True), color=look.color, linewidth=1, alpha=0.6)


def _claim(axes: Axes, inputs: Inputs) -> None:
    memory, time = (inputs.article.claim(f"checkpointing_{part}") for part in ("memory", "time"))
    low, high = 100 / memory["high"], 100 / memory["low"]
    axes.bar(time["value"], high - low, _WIDE, low, **style.ARTICLE.bar())


def _said(pair: Pair) -> str:
    one = pair.forward
    timed = "" if pair.time is None else f", {percent(pair.time, 0)} time"
    kept = f"{gb(one.kept, 2)} GB kept, peak {gb(one.peak)}"
    return f"{one.source.heading}, {one.way}: {kept}{timed}"


def draw(inputs: Inputs) -> Picture:
    pairs = of_article(inputs, load_pairs(inputs))
    case = pairs[0].forward.case
    timed = [pair for pair in pairs if pair.time is not None and not pair.is_plain]
    if not timed:
        raise AbsentError(f"{case}/checkpoint:…: tokens_per_second")
    sides = dict.fromkeys(pair.forward.source for pair in pairs)
    by_side = [[pair for pair in pairs if pair.forward.source is source] for source in sides]
    found = [
        f"{number(1 / pair.kept, 1)} times less in {pair.forward.source.side} for "
        f"{share(pair.time, 0)} more time"
        for pair in [pair for pair in timed if pair.forward.way == "full"] or timed
    ]
    title = f"A forward pass with full checkpointing keeps {', '.join(found)}"
    figure = style.new_figure(_HEIGHT, title)
    left, right = figure.subplots(1, 2, sharex=True)
    panels = (
        (left, "Kept by the forward pass, % of none's", lambda pair: pair.kept),
        (right, "Peak of all steps, % of none's", lambda pair: pair.peak),
    )
    for axes, heading, part in panels:
        axes.set_title(heading)
        for own in by_side:
            _line(axes, own, part)
            _points(axes, own, part)
        axes.set_xlim(-2, _ROOM * 100 * max(pair.time for pair in timed))
        axes.set_ylim(0, 108)
        axes.set_xlabel("more time of a step, %")
        style.level_grid(axes)
    _claim(left, inputs)
    style.key_of(figure, sides, (ARTICLE.heading, style.ARTICLE.patch()))
    name = inputs.run.parse(case)
    size = times(name.text("batch"), name.text("seq"))
    note = (
        f"Training {name.text('model')}, {size} tokens. 1 of 2: every second block is "
        "checkpointed. Where every block computes all again, the peak moves to where the gradients "
        "are, and more checkpointing would not lower it."
    )
    rows, said = f"^{case}(/checkpoint:.*)?$", [_said(pair) for pair in pairs]
    return drawn(inputs, "checkpointing", title, figure, said=said, rows=rows, note=note)
