"""Claims about what fits a card, and by how much the formula is off."""

from collections.abc import Callable, Mapping
from typing import Any

from vramfit_plots.cards import Card
from vramfit_plots.claims.answer import Answer, Figures, counted, each, judged
from vramfit_plots.errors import AbsentError
from vramfit_plots.formula_errors import errors_in_pytorch, errors_in_run, off
from vramfit_plots.inputs import Inputs
from vramfit_plots.levels import measured_levels, pytorch_in_words, pytorch_spread, spread
from vramfit_plots.sources import MEASURED, PREDICTED, TORCH_MEASURED
from vramfit_plots.units import GB, batch, gigabytes, percent

_OPENING_GB = 24
_RUNS = {PREDICTED: "rows predicted for vramfit", TORCH_MEASURED: "cases measured in PyTorch"}


def _opening_card(inputs: Inputs) -> Card:
    rows = inputs.article.oom_cliff["rows"]
    row = next((row for row in rows if row["vram_gb"] == _OPENING_GB), rows[0])
    return inputs.cards[row["gpu"]]


def _taken(inputs: Inputs, row: str) -> Figures:
    """Of a card in all, its driver's share included."""
    reserved = _opening_card(inputs).driver_reserved
    return each(counted(inputs, row, "device_used"), lambda used: used + reserved)


def _on_the_opening_card(
    inputs: Inputs, claim: Mapping[str, Any], holds: Callable[[float, Card], bool]
) -> Answer:
    card, case = _opening_card(inputs), inputs.run.parse(claim["row"])
    return judged(
        _taken(inputs, claim["row"]),
        gigabytes,
        lambda taken: holds(taken, card),
        f"an {card.title} has {gigabytes(card.vram)}; context and a prompt of "
        f"{case.number('seq')} tokens are counted",
    )


def too_large(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    return _on_the_opening_card(inputs, claim, lambda taken, card: taken > card.vram)


def fits(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    return _on_the_opening_card(inputs, claim, lambda taken, card: taken <= card.vram)


def at_least(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    case = inputs.run.parse(claim["row"])
    figures = _taken(inputs, claim["row"])
    remark = "vramfit's Adam keeps m and v in FP32, PyTorch's in the weights' 16 bits"
    near = claim.get("near")
    if near and TORCH_MEASURED not in figures:
        found = _taken(inputs, near["row"]).get(TORCH_MEASURED)
        if found is not None:
            figures = {**figures, TORCH_MEASURED: found}
            remark += f"; {near['as']}"
    return judged(
        figures,
        gigabytes,
        lambda taken: taken >= claim["low"] * GB,
        f"all that a card loses at batch {case.number('batch')}; {remark}",
    )


def nothing_fits(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    card = inputs.cards[inputs.run.parse(claim["row"]).text("gpu")]
    return judged(
        counted(inputs, claim["row"], "max_batch"),
        lambda value: batch(value) if value <= 0 else f"batch {batch(value)}",
        lambda value: value <= 0,
        f"the largest batch that fits an {card.title}",
    )


def outside_the_allocator(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    figures = {}
    asked, used = (counted(inputs, claim["row"], key) for key in ("allocated", "device_used"))
    if asked.get(PREDICTED) and PREDICTED in used:
        share = used[PREDICTED] / asked[PREDICTED] - 1
        figures[PREDICTED] = f"{percent(share, signed=False)}\nTable 2's case"
    try:
        ours = spread(inputs, [levels.share for levels in measured_levels(inputs)])
        figures[MEASURED] = f"{percent(ours.median, signed=False)}\nmedian of {ours.count} rows"
    except AbsentError:
        pass
    theirs = pytorch_spread(inputs)
    figures[TORCH_MEASURED] = (
        f"{percent(theirs.median, signed=False)}\nmedian of {theirs.count} cases"
    )
    words = pytorch_in_words(theirs)
    holds = "Holds" if theirs.within == theirs.count else "In part"
    return Answer(figures, f"{holds}: {words}.")


def rules_of_thumb(inputs: Inputs, claim: Mapping[str, Any]) -> Answer:
    errors = {PREDICTED: errors_in_run(inputs)}
    if inputs.accuracy is not None:
        errors[TORCH_MEASURED] = errors_in_pytorch(inputs.accuracy)
    figures = {source: float(found.median()) for source, found in errors.items() if len(found)}
    remark = " and ".join(f"{off(errors[source])} {_RUNS[source]}" for source in figures)
    return judged(
        figures,
        lambda median: f"{percent(median, 0, signed=False)}\nmedian error",
        lambda median: median <= claim["value"] / 100,
        "the rules themselves are not in our copy of the article; will_it_fit's training total is "
        f"off by {remark}",
    )
