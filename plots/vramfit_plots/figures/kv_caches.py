"""The KV cache against context, and what unequal prompts leave unfilled of it."""

from matplotlib.axes import Axes

from vramfit_plots.captions import caption, signature
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.kv_caches import PLAIN, KvCache, KvCaches, load_kv_caches
from vramfit_plots.sources import MEASURED
from vramfit_plots.units import GB, gb, gigabytes, number, percent

_HEIGHT = 3.6
_ROOM = 1.3  # right of bars and lines, for what is said there
_LOOKS = {  # of 8 bits both formats take the same
    PLAIN: (style.BY_CATEGORY["parameters"].color, "16 bits"),
    "int8": (style.BY_CATEGORY["kv_cache"].color, "8 bits"),
}


def _points(found: KvCaches, stored_in: str) -> list[tuple[int, float]]:
    """What sequences of one length take together, by their tokens; in 16 bits of Inference too."""
    whole = [cache for cache in found.every if cache.block == 0 and not cache.spread]
    points = [
        (cache.batch * cache.positions, cache.bytes)
        for cache in whole
        if cache.stored_in == stored_in
    ]
    return sorted([*points, *found.of_inference] if stored_in == PLAIN else points)


def _lines(axes: Axes, found: KvCaches) -> None:
    """By format, through what was found."""
    longest = max(tokens for tokens, _ in _points(found, PLAIN))
    for stored_in, (color, said) in _LOOKS.items():
        points = _points(found, stored_in)
        if not points:
            continue
        slope = next(c.bytes_per_token for c in found.every if c.stored_in == stored_in)
        label = f"{said}: {number(slope, 0)} B a token"
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
        color, said = _LOOKS[cache.stored_in]
        filled = cache.bytes - cache.waste
        axes.barh(y, filled / GB, 0.7, color=color)
        axes.barh(
            y, cache.waste / GB, 0.7, filled / GB, color="white", edgecolor=color, hatch="////"
        )
        share = percent(cache.waste / cache.bytes, 0, signed=False)
        axes.annotate(
            f"{share} unfilled", (cache.bytes / GB, y), (4, 0), textcoords="offset points",
            va="center", size=9,
        )  # fmt: skip
        names.append(f"{said},\n{'blocks ' if cache.block else ''}{cache.blocks}")
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
    left, right = figure.subplots(1, 2)
    _lines(left, found)
    _bars(right, unequal)
    said = [
        f"{cache.stored_in}, {cache.blocks}, {cache.prompts} prompts: {gb(cache.bytes, 2)} GB, "
        f"{gb(cache.waste, 2)} unfilled"
        for cache in found.of_shortest()
    ]
    return Picture(
        key="kv_caches",
        title=title,
        alt="; ".join(said),
        caption=caption(inputs, found.pattern, f"Of {found.model} in bf16."),
        figure=figure,
        signature=signature(inputs),
    )
