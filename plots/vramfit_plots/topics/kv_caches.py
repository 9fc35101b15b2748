"""The KV cache of the article's model by what it is stored in, and how."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from vramfit_plots.captions import command
from vramfit_plots.captions import said as whose
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import MEASURED, PREDICTED, Source
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import GB, gb, gigabytes, number, share, times

PLAIN = "16 bits"  # as --cache=unquantized stores them of a model in 16 bits
_FORM = (
    r"KvCache/{model}/bf16/batch:(?P<batch>\d+)/seq:(?P<seq>\d+)/generate:(?P<generate>\d+)"
    r"(?:/cache:(?P<cache>[^/]+))?(?:/block:(?P<block>\d+))?(?P<spread>/lengths:spread)?"
)
_COUNTERS = ("kv_bytes_per_token", "kv_cache", "kv_waste")


@dataclass(frozen=True)
class KvCache:
    stored_in: str
    block: int  # positions; 0: one block for a whole sequence
    spread: bool  # prompts of unequal length
    batch: int
    positions: int  # of a sequence
    bytes_per_token: float
    bytes: float
    waste: float  # bytes of positions that no sequence fills

    @property
    def blocks(self) -> str:
        return f"of {self.block}" if self.block else "one a sequence"

    @property
    def unfilled(self) -> float:
        return self.waste / self.bytes

    @property
    def prompts(self) -> str:
        return "unequal" if self.spread else "equal"


@dataclass(frozen=True)
class KvCaches:
    model: str
    source: Source
    every: Sequence[KvCache]
    of_inference: Sequence[tuple[int, float]]  # tokens and bytes of prompts in 16 bits

    @property
    def pattern(self) -> str:
        return f"^KvCache/{self.model}/bf16/"

    def of_shortest(self) -> Sequence[KvCache]:
        """Those of the fewest positions, where nothing but the cache's kind differs."""
        least = min(cache.positions for cache in self.every)
        return [cache for cache in self.every if cache.positions == least]


def load_kv_caches(inputs: Inputs) -> KvCaches:
    """Of the measured rows, or where there are none of the predicted ones."""

    def rows(form: str) -> list[re.Match[str]]:
        return [m for m in map(re.compile(form).fullmatch, inputs.run.rows.index) if m]

    model = inputs.article.inference["model"]
    for source in (MEASURED, PREDICTED):
        every = []
        for match in rows(_FORM.format(model=re.escape(model))):
            if taken := inputs.all_of(match[0], source, *_COUNTERS):
                positions = int(match["seq"]) + int(match["generate"]) - 1
                kind = (match["cache"] or PLAIN, int(match["block"] or 0), bool(match["spread"]))
                every.append(KvCache(*kind, int(match["batch"]), positions, *taken))
        if every:
            prompts = rows(rf"Inference/{re.escape(model)}/bf16/batch:(\d+)/seq:(\d+)")
            sizes = [(int(m[1]) * int(m[2]), inputs.of(m[0], source, "kv_cache")) for m in prompts]
            of_inference = [(tokens, size) for tokens, size in sizes if size is not None]
            return KvCaches(model, source, every, of_inference)
    raise AbsentError(f"rows KvCache/{model}/bf16/…/generate:…")


_COLUMNS = (
    Column("keys and\nvalues in", "stored_in"),
    Column("blocks", "blocks"),
    Column("prompts", "prompts"),
    Column("a token\nB", "bytes_per_token", number),
    Column("cache\nGB", "bytes", gb, 2),
    Column("unfilled\nGB", "waste", gb, 2),
    Column("unfilled", "unfilled", share),
)


def build(inputs: Inputs) -> list[Table]:
    found = load_kv_caches(inputs)
    caches, rows = found.of_shortest(), command(inputs, found.pattern)
    size, said = times(caches[0].batch, f"{caches[0].positions:,}"), whose(inputs, found.source)
    about = {"model": found.model, "size": size, "whose": said}
    return [listing("kv_caches", _COLUMNS, caches, rows, **about)]


_HEIGHT = 3.6
_ROOM = 1.5  # right of bars and lines, for what is said there
_LOOKS = {  # of 8 bits both formats take the same
    PLAIN: (style.BY_CATEGORY["parameters"].color, "16 bits"),
    "int8": (style.BY_CATEGORY["kv_cache"].color, "8 bits"),
}


def _points(found: KvCaches, stored_in: str) -> list[tuple[int, float]]:
    """What sequences of one length take together, by their tokens; in 16 bits of Inference too."""
    points = [
        (cache.batch * cache.positions, cache.bytes)
        for cache in found.every
        if cache.stored_in == stored_in and cache.block == 0 and not cache.spread
    ]
    return sorted([*points, *found.of_inference] if stored_in == PLAIN else points)


def _lines(axes: Axes, found: KvCaches) -> None:
    """By format, through what was found."""
    longest = max(tokens for tokens, _ in _points(found, PLAIN))
    for stored_in, (color, bits) in _LOOKS.items():
        points = _points(found, stored_in)
        if not points:
            continue
        slope = next(c.bytes_per_token for c in found.every if c.stored_in == stored_in)
        label = f"{bits}: {number(slope, 0)} B a token"
        axes.plot([0, longest], [0, slope * longest / GB], color=color, label=label)
        filled = "full" if found.source is MEASURED else "none"
        tokens, sizes = zip(*((tokens, size / GB) for tokens, size in points), strict=True)
        axes.plot(tokens, sizes, "o", color=color, fillstyle=filled)
    axes.set_title("Cache, GB")
    axes.set_xlabel("tokens of all sequences together")
    axes.set_xlim(0, 1.05 * longest)
    axes.set_ylim(0, None)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.locator_params(axis="x", nbins=4)
    axes.legend(loc="upper left", fontsize=9)
    style.level_grid(axes)


def _bars(axes: Axes, caches: list[KvCache]) -> None:
    names = []
    for y, cache in enumerate(caches):
        color, bits = _LOOKS[cache.stored_in]
        filled, waste = (cache.bytes - cache.waste) / GB, cache.waste / GB
        axes.barh(y, filled, 0.7, color=color)
        axes.barh(y, waste, 0.7, filled, color="white", edgecolor=color, hatch="////")
        text = f"{share(cache.unfilled, 0)} unfilled"
        style.say(axes, text, (cache.bytes / GB, y), (4, 0), va="center")
        names.append(f"{bits},\n{'blocks ' if cache.block else ''}{cache.blocks}")
    axes.set_yticks(range(len(caches)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, _ROOM * max(cache.bytes for cache in caches) / GB)
    axes.set_title("Of unequal prompts, GB")
    axes.tick_params(axis="y", length=0)


def draw(inputs: Inputs) -> Picture:
    found = load_kv_caches(inputs)
    unequal = [cache for cache in found.of_shortest() if cache.spread and cache.stored_in in _LOOKS]
    plain = next((cache for cache in found.every if cache.stored_in == PLAIN), None)
    if plain is None or not unequal or not _points(found, PLAIN):
        raise AbsentError(f"rows {found.pattern} of unequal prompts and in 16 bits")
    most = max(unequal, key=lambda cache: cache.waste)
    title = (
        f"A token takes {number(plain.bytes_per_token, 0)} B of cache in 16 bits; of prompts of "
        f"unequal length one block a sequence leaves {gigabytes(most.waste)} of "
        f"{gigabytes(most.bytes)} unfilled"
    )
    figure = style.new_figure(_HEIGHT, title)
    left, right = style.grid(figure, 2, 2)
    _lines(left, found)
    _bars(right, unequal)
    said = [
        f"{cache.stored_in}, {cache.blocks}, {cache.prompts} prompts: {gb(cache.bytes, 2)} GB, "
        f"{gb(cache.waste, 2)} unfilled"
        for cache in found.of_shortest()
    ]
    return drawn(inputs, "kv_caches", title, figure, said, model=found.model)
