"""What activation checkpointing saves of memory, and what it costs of time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from matplotlib.axes import Axes

from vramfit_plots.article_tables import Footnotes
from vramfit_plots.captions import command
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs, Reading
from vramfit_plots.sources import (
    ARTICLE,
    OURS,
    TIMED,
    TORCH,
    TORCH_MEASURED,
    Source,
    best_of_each_side,
)
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import MISSING, gb, number, percent, share, times

NONE = "none"
_AXES = ("checkpoint:", "every:")
_COUNTERS = ("step1_forward_after", "step1_loaded_after", "allocated")
_HEIGHT = 3.9
_WIDE = 2.0  # percent of time: how wide the article's claim is drawn
_ROOM = 1.3  # right of the last point, for its name


class Forward(Reading):
    """What one side takes of a case with one way of checkpointing. Bytes."""

    @property
    def way(self) -> str:
        """ "none", "full", "selective, 1 block of 2"."""
        return self.strategy.checkpointing

    @property
    def kept(self) -> float:
        """By the first forward pass, the model apart."""
        return self.step1_forward_after - self.step1_loaded_after


@dataclass(frozen=True)
class Pair:
    """With checkpointing beside without, of one source; or that beside itself."""

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
        return self.forward.allocated / self.plain.allocated

    @property
    def time(self) -> float | None:
        """More of a step's time, as a share of it."""
        fast, slow = self.plain.tokens_per_second, self.forward.tokens_per_second
        return fast / slow - 1 if fast and slow else None


def plain_row(row: str) -> str:
    """The same without checkpointing."""
    return "/".join(part for part in row.split("/") if not part.startswith(_AXES))


def _pairs(inputs: Inputs, row: str) -> list[Pair]:
    def pair(source: Source) -> Pair | None:
        both = [Forward(inputs, name, source) for name in (row, plain_row(row))]
        known = all(inputs.all_of(one.row, source, *_COUNTERS) for one in both)
        return Pair(*both) if known and min(one.kept for one in both) > 0 else None

    return best_of_each_side(pair)


def load_pairs(inputs: Inputs) -> dict[str, list[Pair]]:
    """By case, vramfit's before PyTorch's and what keeps most first; each side begins with the
    case as it is. Cases that nobody measured are left out: checkpointing is asked for its time."""
    found: dict[str, list[Pair]] = {}
    for row in inputs.names("Training"):
        if plain_row(row) != row:
            for pair in _pairs(inputs, row):
                found.setdefault(pair.plain.row, []).append(pair)
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


def _case(pair: Pair) -> str:
    name = pair.plain.inputs.run.parse(pair.plain.row)
    size = times(name.number("batch"), f"{name.number('seq'):,}")
    return f"{pair.plain.strategy.words('seq')}\n{size} tokens"


def _at_peak(one: Forward, footnotes: Footnotes) -> str:
    """Activations and workspace; PyTorch's measurements have totals alone."""
    by = replace(one, source=TORCH) if one.source is TORCH_MEASURED else one
    if by.activations is None:
        return MISSING
    figure = gb(by.activations + (by.workspace or 0.0), 2)
    return figure if by is one else footnotes.signed(figure, by.source.heading)


def build(inputs: Inputs) -> list[Table]:
    pairs = [pair for pairs in load_pairs(inputs).values() for pair in pairs]
    footnotes = Footnotes()
    at_peak = {pair: _at_peak(pair.forward, footnotes) for pair in pairs}
    columns = (
        Column("case", _case),
        Column("computed again", "forward.way", text=True),
        Column("whose", "forward.source.heading", text=True),
        Column("kept by forward\nGB", "forward.kept", gb, 2),
        Column("times less", lambda pair: None if pair.is_plain else 1 / pair.kept, number, 1),
        Column("activations and workspace at the peak\nGB", at_peak.get),
        Column("peak of all steps\nGB", "forward.allocated", gb),
        Column("peak against none", lambda p: None if p.is_plain else p.peak - 1, percent, 0),
        Column("time against none", lambda p: None if p.is_plain else p.time, percent, 0),
    )
    rows = command(inputs, "^Training/.*/checkpoint:")
    return [listing("checkpointing", columns, pairs, rows, footnotes=footnotes.text)]


def _points(axes: Axes, pairs: Sequence[Pair], part: Callable[[Pair], float]) -> None:
    """Each with its name, below it where vramfit computes all of a block again; and a line from
    none through every k-th block to all, for each kind."""
    color = style.BY_SOURCE[pairs[0].forward.source.key].color
    by_kind = {pair: pair.forward.way.split(",")[0] for pair in pairs if pair.time is not None}
    places = {pair: (100 * pair.time, 100 * part(pair)) for pair in by_kind}
    for kind in dict.fromkeys(pair.forward.way.split(",")[0] for pair in pairs):
        own = sorted(at for pair, at in places.items() if by_kind[pair] in {kind, NONE})
        axes.plot(*zip(*own, strict=True), color=color, linewidth=1, alpha=0.6)
    for pair, at in places.items():
        axes.plot(*at, "o", color=color, markersize=6, zorder=3)
        below = by_kind[pair] == "full" and pair.forward.source in OURS
        name, away = pair.forward.way.replace("1 block of ", "1 of "), (4, -11 if below else 4)
        style.say(axes, name, at, away, size=8, over_lines=True)


def _claim(axes: Axes, inputs: Inputs) -> None:
    memory, time = (inputs.article.claim(f"checkpointing_{part}") for part in ("memory", "time"))
    low, high = 100 / memory["high"], 100 / memory["low"]
    axes.bar(time["value"], high - low, _WIDE, low, **style.ARTICLE.bar())


def _said(pair: Pair) -> str:
    one = pair.forward
    timed = "" if pair.time is None else f", {percent(pair.time, 0)} time"
    kept = f"{gb(one.kept, 2)} GB kept, peak {gb(one.allocated)}"
    return f"{one.source.heading}, {one.way}: {kept}{timed}"


def draw(inputs: Inputs) -> Picture:
    pairs = of_article(inputs, load_pairs(inputs))
    case = pairs[0].plain.row
    timed = [pair for pair in pairs if pair.time is not None and not pair.is_plain]
    if not timed:
        raise AbsentError(f"{case}/checkpoint:…: tokens_per_second")
    sides = dict.fromkeys(pair.forward.source for pair in pairs)
    found = [
        f"{number(1 / pair.kept, 1)} times less in {pair.forward.side} for "
        f"{share(pair.time, 0)} more time"
        for pair in [pair for pair in timed if pair.forward.way == "full"] or timed
    ]
    title = f"A forward pass with full checkpointing keeps {', '.join(found)}"
    figure = style.new_figure(_HEIGHT, title)
    left, right = style.grid(figure, 2, 2, sharex=True)
    panels = (
        (left, "Kept by the forward pass, % of none's", lambda pair: pair.kept),
        (right, "Peak of all steps, % of none's", lambda pair: pair.peak),
    )
    for axes, heading, part in panels:
        axes.set_title(heading)
        for source in sides:
            _points(axes, [pair for pair in pairs if pair.forward.source is source], part)
        axes.set_xlim(-2, _ROOM * 100 * max(pair.time for pair in timed))
        axes.set_ylim(0, 108)
        axes.set_xlabel("more time of a step, %")
        style.level_grid(axes)
    _claim(left, inputs)
    style.key_of(figure, sides, (ARTICLE.heading, style.ARTICLE.patch()))
    said = [_said(pair) for pair in pairs]
    return drawn(inputs, "checkpointing", title, figure, said, case=inputs.run.parse(case))
