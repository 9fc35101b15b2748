"""Items about Table 2 and training in one card."""

from vramfit_plots import article_code
from vramfit_plots.contradictions.common import (
    differ,
    how,
    ours,
    pytorch,
    seven_b,
    sharded,
    table_2_case,
    table_2_row,
)
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.levels import measured_levels, pytorch_in_words, pytorch_spread, spread
from vramfit_plots.sources import TORCH_MEASURED, Source
from vramfit_plots.units import GB, gb, gigabytes, number, percent

_PLAIN = {
    "model",
    "precision",
    "optimizer",
    "batch",
    "seq",
}  # axes of a usual row


def _table_2_by_calculator(inputs: Inputs) -> article_code.Answer:
    row = table_2_case(inputs)
    return article_code.training(inputs, row.number("batch"), row.number("seq"))


def table_2_and_calculator(inputs: Inputs) -> str | None:
    assumed = seven_b(inputs)
    printed = inputs.article.stage_memory("optimizer")
    answer = _table_2_by_calculator(inputs)
    if not differ(printed, answer.fixed):
        return None
    master = inputs.article.claim("master_weights_extra")["value"] * GB
    why = (
        ""
        if differ(answer.fixed - printed, master)
        else f" The {gigabytes(master)} between them are the FP32 master weights."
    )
    return (
        f"Table 2 ends its optimizer step at {gigabytes(printed)}, "
        f"{number(printed / assumed)} B/param. The article's will_it_fit gives "
        f"{gb(answer.fixed)} + {gigabytes(answer.activations)} for the same case, "
        f"{number(answer.fixed / assumed)} B/param before activations.{why}"
    )


def activations(inputs: Inputs) -> str | None:
    row = table_2_row(inputs)
    article = inputs.article
    printed = article.stage_memory("forward") - article.stage_memory("loaded")
    formula = _table_2_by_calculator(inputs).activations
    counters = ("step1_forward_after", "step1_loaded_after")
    source = ours(inputs, row, *counters)
    forward, loaded = (inputs.need(row, source.prefix + counter) for counter in counters)
    torch_forward, torch_loaded = (pytorch(inputs, "adamw", counter) for counter in counters)
    own, theirs = forward - loaded, torch_forward - torch_loaded
    if not any(differ(printed, other) for other in (formula, own, theirs)):
        return None
    return (
        f"Activations of one forward pass take {gb(printed)} in Table 2, {gb(formula)} by the "
        f"article's factor of 12, {gb(own)} in vramfit, which recomputes what is cheap "
        f"({how(source)}), {gigabytes(theirs)} in PyTorch (measured in BF16)."
    )


def torch_keeps_other_states(inputs: Inputs) -> str | None:
    printed = inputs.article.stage_memory("optimizer")
    after = pytorch(inputs, "adamw", "step1_optimizer_after")
    peak = pytorch(inputs, "adamw", "step1_optimizer_peak")
    if not differ(printed, after):
        return None
    return (
        "torch.optim.AdamW, which the article's code uses, keeps m and v in the parameters' dtype: "
        f"PyTorch was measured to hold {gb(after)} after the optimizer step where Table 2 has "
        f"{gigabytes(printed)}, and {gigabytes(peak)} at the peak inside the step."
    )


def _growth(inputs: Inputs, row: str) -> tuple[Source, float, float]:
    """The peak of the first step and that of all, and who says so."""
    stages = [f"step1_{entry['stage']}_peak" for entry in inputs.article.waterfall["rows"]]
    source = ours(inputs, row, "allocated", *stages)
    first = max(inputs.divisor(row, source.prefix + stage) for stage in stages)
    return source, first, inputs.need(row, f"{source.prefix}allocated")


def first_step_only(inputs: Inputs) -> str | None:
    """Shown for the batch and length where it matters most, all else as in Table 2."""
    article_row = table_2_row(inputs)
    start = article_row.split("/batch:")[0] + "/batch:"
    peaks = {
        name: _growth(inputs, name)
        for name in inputs.run.rows.index
        if name.startswith(start)
        and inputs.run.parse(name).axes.keys() == _PLAIN
        and not inputs.value(name, "oom")
    }
    if not peaks:
        raise AbsentError(f"{start}*")
    worst = max(peaks, key=lambda name: peaks[name][2] / peaks[name][1])
    source, first, later = peaks[worst]
    case = inputs.run.parse(worst)
    if not differ(first, later):
        return None
    fsdp = sharded(inputs, "fsdp", 2).row
    measured = [
        max(
            inputs.need(fsdp, f"{TORCH_MEASURED.prefix}step{step}_{stage}_peak")
            for stage in ("forward", "backward", "optimizer")
        )
        for step in (1, 2)
    ]
    return (
        "The waterfall is the first step's; activations and optimizer states first meet in the "
        f"second. With batch {case.number('batch')} of {case.number('seq')} tokens vramfit's peak "
        f"rises from {gb(first)} to {gigabytes(later)} ({how(source)}), and that of PyTorch's FSDP "
        f"from {gb(measured[0])} to {gigabytes(measured[1])} a GPU (measured)."
    )


def beyond_the_allocator(inputs: Inputs) -> str | None:
    claim, theirs = inputs.article.claim("outside_the_allocator"), pytorch_spread(inputs)
    if theirs.within == theirs.count:
        return None
    words = pytorch_in_words(theirs)
    try:
        ours = spread(inputs, [levels.share for levels in measured_levels(inputs)])
        own = (
            f" vramfit's own step was measured at {percent(min(ours.shares), signed=False)} to "
            f"{percent(max(ours.shares), signed=False)}: a pool that knows the step fragments "
            "little, and the context does not grow with the model."
        )
    except AbsentError:
        own = ""
    range_ = percent(claim["high"] / 100, 0, signed=False)
    return (
        f"The article says that what the allocator does not see can add {claim['low']} to "
        f"{range_}. But {words}.{own}"
    )
