"""What a run takes of the card beyond its tensors, PyTorch's and vramfit's: the article has it at
10 to 20 %."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from matplotlib.axes import Axes

from vramfit_plots.accuracy.cases import Case
from vramfit_plots.captions import command
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture, drawn
from vramfit_plots.files import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import GB, gb, gigabytes, in_words, mib, number, share

LEAST = 5 * GB  # allocated: of smaller runs the context alone, which is the same for all, is 10 %
_FAMILIES = ("Training", "Inference", "KvCache")
_BIN, _WIDEST = 2, 60  # percent; what is beyond stands in the last bin


@dataclass(frozen=True)
class Levels:
    """Bytes, measured; the four add up to what the card lost."""

    row: str
    allocated: float
    pool: float  # reserved beyond allocated: rounding and gaps
    overhead: float  # context and libraries, as the GPU's profile has them
    unattributed: float  # what is left, either way

    @property
    def share(self) -> float:
        """What was lost beyond allocated, as a share of it."""
        return (self.pool + self.overhead + self.unattributed) / self.allocated


@dataclass(frozen=True)
class Shares:
    """How many shares lie where, of the article's range."""

    low: float
    high: float
    shares: Sequence[float]
    name: str = ""

    @property
    def below(self) -> int:
        return sum(one < self.low for one in self.shares)

    @property
    def above(self) -> int:
        return sum(one > self.high for one in self.shares)

    @property
    def within(self) -> int:
        return self.count - self.below - self.above

    @property
    def count(self) -> int:
        return len(self.shares)

    @property
    def median(self) -> float:
        return median(self.shares)

    @property
    def claimed(self) -> str:
        """The range, in words."""
        return f"{number(100 * self.low)} to {share(self.high, 0)}"

    @property
    def words(self) -> str:
        """Of PyTorch's cases."""
        return (
            f"of {self.count} cases over {gigabytes(LEAST, 0)} measured in PyTorch {self.within} "
            f"lie within, {self.below} below and {self.above} above; their median is "
            f"{share(self.median)}"
        )


def shares_of(inputs: Inputs, shares: Sequence[float], name: str = "") -> Shares:
    """The allocator does not see what "can add", by the article, such shares."""
    claim = inputs.article.claim("outside_the_allocator")
    return Shares(claim["low"] / 100, claim["high"] / 100, shares, name)


def measured_levels(inputs: Inputs) -> list[Levels]:
    """Every measured row's, in the run's order; throws AbsentError where there is none."""
    found = []
    for row in inputs.run.names(*_FAMILIES):
        used = inputs.value(row, "mem_device_used")
        if used is None:
            continue
        allocated = inputs.divisor(row, "mem_allocated")
        reserved, rest = (inputs.need(row, f"mem_{part}") for part in ("reserved", "unattributed"))
        found.append(Levels(row, allocated, reserved - allocated, used - reserved - rest, rest))
    if not found:
        raise AbsentError("mem_device_used: rows measured on a GPU")
    return found


def our_shares(inputs: Inputs) -> Shares | None:
    try:
        return shares_of(inputs, [levels.share for levels in measured_levels(inputs)], "vramfit")
    except AbsentError:
        return None


def _pytorch_cases(inputs: Inputs) -> list[Case]:
    """Those measured in PyTorch that are large enough to judge the article by."""
    return [case for case in inputs.reference.cases if case.peak["peak"] > LEAST]


def pytorch_shares(inputs: Inputs) -> Shares:
    cases = _pytorch_cases(inputs)
    if not cases:
        raise AbsentError("cases measured in PyTorch")
    return shares_of(inputs, [case.beyond_allocated for case in cases], "PyTorch")


def _kind(case: Case) -> str:
    """Each case is of one kind, so that their counts add up to all."""
    if not case.training:
        return "inference"
    extras = {"ckpt": "checkpointing", "lora": "LoRA"}
    found = [word for key, word in extras.items() if case.setting.get(key)]
    return f"training with {in_words(found)}" if found else "full training"


_OF_PYTORCH = (
    Column("cases", "name"),
    Column("how many", "count", number),
    Column("below", "below", number),
    Column("within", "within", number),
    Column("above", "above", number),
    Column("median", "median", share),
    Column("least", lambda found: min(found.shares), share),
    Column("most", lambda found: max(found.shares), share),
)
_OF_VRAMFIT = (
    Column("row", "row"),
    Column("allocated, GB", "allocated", gb, 2),
    Column("reserved beyond it", "pool", mib),
    Column("context and libraries", "overhead", mib),
    Column("unattributed", "unattributed", mib),
    Column("beyond allocated", "share", share),
)


def build(inputs: Inputs) -> list[Table]:
    by_kind: dict[str, list[float]] = {}
    for case in _pytorch_cases(inputs):
        for kind in ("all", _kind(case)):
            by_kind.setdefault(kind, []).append(case.beyond_allocated)
    kinds = [shares_of(inputs, shares, kind) for kind, shares in by_kind.items()]
    about = {"claimed": shares_of(inputs, []).claimed, "least": LEAST}
    of_pytorch = listing("levels_pytorch", _OF_PYTORCH, kinds, **about)
    ours, rows = our_shares(inputs), command(inputs, f"^({'|'.join(_FAMILIES)})/")
    if ours is None:
        return [of_pytorch]
    every = measured_levels(inputs)
    return [of_pytorch, listing("levels", _OF_VRAMFIT, every, rows, long=True, found=ours)]


def _histogram(axes: Axes, found: Shares, look: style.Look, right: float) -> None:
    axes.axvspan(100 * found.low, 100 * found.high, color="#e6e6e6", zorder=0)
    shares = [min(100 * one, right - _BIN / 2) for one in found.shares]
    axes.hist(shares, bins=list(range(0, int(right) + _BIN, _BIN)), **look.bar())
    middle = 100 * found.median
    axes.axvline(middle, color=style.INK, linewidth=1.5)
    top = 1.2 * axes.get_ylim()[1]
    axes.set_ylim(0, top)
    axes.set_xlim(0, right)
    style.say(axes, f"median {share(found.median)}", (middle, top), (4, -9), strong=True)
    of = f"cases over {gigabytes(LEAST, 0)}" if found.name == "PyTorch" else "rows"
    axes.set_title(f"{found.name}, {found.count} {of}")
    axes.set_ylabel("how many")
    axes.tick_params(length=0)


def draw(inputs: Inputs) -> Picture:
    both = [found for found in (pytorch_shares(inputs), our_shares(inputs)) if found]
    medians = in_words(f"{share(found.median)} in {found.name}" for found in both)
    claimed = both[0].claimed
    title = f"Beyond tensors a run takes {medians} (medians); the article says {claimed}"
    right = min(100 * max(one for found in both for one in found.shares) + _BIN, _WIDEST)
    figure = style.new_figure(0.9 + 1.5 * len(both), title)
    every = style.grid(figure, len(both), 1, sharex=True)
    for axes, found, look in zip(every, both, (style.TORCH_MEASURED, style.MEASURED), strict=False):
        _histogram(axes, found, look, right)
    every[-1].set_xlabel("lost beyond the peak allocated, % (grey: article)", fontsize=9)
    said = [
        f"{found.name}: {found.below} below the article's range, {found.within} within, "
        f"{found.above} above"
        for found in both
    ]
    return drawn(inputs, "levels", title, figure, said)
