"""What each measured row takes beyond its tensors, beside the article's 10 to 20 %."""

from matplotlib.patches import Patch

from vramfit_plots.captions import caption
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.levels import ARTICLE_SHARE, Levels, measured_levels
from vramfit_plots.units import percent

_PARTS = (
    ("pool", "reserved beyond allocated", style.Look("#0072B2")),
    ("overhead", "context and libraries", style.Look("#E69F00", "////")),
    ("unattributed", "unattributed", style.Look("#D55E00", "....")),
)
_ROW_INCHES, _AROUND_INCHES = 0.22, 1.3


def _short(row: str) -> str:
    return row.replace("Training/", "").replace("batch:", "b").replace("seq:", "s")


def _draw_row(axes, y: int, levels: Levels) -> None:
    left = 0.0
    for field, _, look in _PARTS:
        share = 100 * max(0.0, getattr(levels, field)) / levels.allocated
        axes.barh(y, share, 0.75, left=left, **look.bar())
        left += share
    style.say(axes, percent(levels.share, signed=False), (left, y), (4, 0), va="center")


def draw(inputs: Inputs) -> Picture:
    every = measured_levels(inputs)
    figure = style.new_figure(_AROUND_INCHES + _ROW_INCHES * len(every))
    axes = figure.subplots()
    axes.axvspan(*(100 * share for share in ARTICLE_SHARE), color="#e6e6e6", zorder=0)
    for y, levels in enumerate(every):
        _draw_row(axes, y, levels)
    axes.set_yticks(range(len(every)), [_short(levels.row) for levels in every], fontsize=8)
    axes.set_ylim(len(every) - 0.4, -0.6)
    axes.set_xlim(0, 105 * max(ARTICLE_SHARE[1], *(levels.share for levels in every)))
    axes.set_xlabel("of the memory that tensors are allocated, %")
    axes.tick_params(length=0)
    article = style.Look("#e6e6e6")
    looks = [(label, look) for _, label, look in _PARTS] + [("the article's 10 to 20 %", article)]
    figure.legend(
        [Patch(**look.patch()) for _, look in looks],
        [label for label, _ in looks],
        ncols=2,
        loc="outside upper left",
    )
    cells = [inputs.cell(levels.row, "device_used") for levels in every]
    return Picture(
        key="levels",
        title="What the allocator does not see",
        alt="; ".join(f"{levels.row}: {percent(levels.share)}" for levels in every),
        caption=caption(
            inputs,
            cells,
            "^(Training|Inference|KvCache)/",
            "What the card lost beyond what tensors were allocated, of the latter.",
        ),
        figure=figure,
    )
