"""What activation checkpointing saves of memory, and what it costs of time."""

from collections.abc import Iterator
from dataclasses import dataclass

from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import family
from vramfit_plots.sources import MEASURED, OURS, THEIRS, TORCH, TORCH_MEASURED, Source
from vramfit_plots.speeds import speeds
from vramfit_plots.strategies import Strategy, strategy_of

NONE = "none"
_AXES = ("checkpoint:", "every:")


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
    def value(counter: str) -> float | None:
        return inputs.value(row, f"{source.prefix}{counter}")

    after, loaded, peak = map(value, ("step1_forward_after", "step1_loaded_after", "allocated"))
    parts = TORCH if source is TORCH_MEASURED else source
    activations, workspace = (
        inputs.value(row, f"{parts.prefix}{part}") for part in ("activations", "workspace")
    )
    if after is None or loaded is None or peak is None or after <= loaded:
        return None
    return Forward(
        case=plain_row(row),
        way=strategy.checkpointing,
        source=source,
        kept=after - loaded,
        peak=peak,
        at_peak=None if activations is None else activations + (workspace or 0.0),
        at_peak_by=parts,
        tokens_per_second=speeds(inputs, row).get(source),
    )


def _sides(inputs: Inputs, row: str, strategy: Strategy) -> Iterator[Pair]:
    """Of each side what was measured, else what is predicted, with and without alike."""
    case = plain_row(row)
    for sources in (OURS, THEIRS):
        for source in sources:
            forward = _of(inputs, row, strategy, source)
            plain = _of(inputs, case, strategy.stored, source)
            if forward and plain:
                yield Pair(forward, plain)
                break


def of_article(inputs: Inputs, cases: dict[str, list[Pair]]) -> list[Pair]:
    """Those of the case that the article's claims are judged by."""
    case = plain_row(inputs.article.claim("checkpointing_memory")["near"]["row"])
    if case not in cases:
        raise AbsentError(f"{case}/checkpoint:… measured")
    return cases[case]


def load_pairs(inputs: Inputs) -> dict[str, list[Pair]]:
    """By case, vramfit's before PyTorch's and what keeps most first; each side begins with the
    case as it is. Cases that nobody measured are left out: checkpointing is asked for its time."""
    found: dict[str, list[Pair]] = {}
    for row in inputs.rows.index:
        if family(row) != "Training" or plain_row(row) == row:
            continue
        strategy = strategy_of(inputs.run.parse(row))
        for pair in _sides(inputs, row, strategy):
            found.setdefault(pair.plain.case, []).append(pair)
    cases = {}
    for case, pairs in found.items():
        if any(pair.forward.source in {MEASURED, TORCH_MEASURED} for pair in pairs):
            plain = {pair.plain.source: Pair(pair.plain, pair.plain) for pair in pairs}
            cases[case] = sorted([*plain.values(), *pairs], key=_order)
    if not cases:
        raise AbsentError("rows Training/…/checkpoint:… that were measured")
    return cases


def _order(pair: Pair) -> tuple[bool, str, float]:
    source = pair.forward.source
    return source.side == TORCH.side, source.key, -pair.kept
