"""The article's waterfall for every optimizer."""

from vramfit_plots.captions import caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.optimizers import Optimizers, Waterfall, load_optimizers
from vramfit_plots.sources import OURS
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, gb, number


def _whose(found: Optimizers, waterfall: Waterfall) -> str:
    """In small type PyTorch's own name for it."""
    heading = waterfall.source.heading
    theirs = "" if waterfall.source in OURS else found.pytorchs(waterfall.optimizer)
    return f"{heading}\n{theirs}" if theirs else heading


def _row(found: Optimizers, waterfall: Waterfall) -> list[str]:
    speed = waterfall.tokens_per_second
    return [
        waterfall.optimizer,
        _whose(found, waterfall),
        *(gb(value) for value in waterfall.after.values()),
        gb(waterfall.peak),
        *([gb(waterfall.host) if waterfall.host else MISSING] if found.on_host else []),
        number(waterfall.states_per_parameter, 2),
        MISSING if speed is None else number(speed),
    ]


def build(inputs: Inputs) -> list[Table]:
    try:
        found = load_optimizers(inputs)
    except AbsentError:
        return []
    stages = [entry["label"] for entry in inputs.article.waterfall["rows"]]
    case = inputs.run.parse(found.every[0][0].row)
    return [
        Table(
            key="waterfall_optimizers",
            title="The waterfall for every optimizer",
            headings=[
                "optimizer",
                "whose",
                *stages,
                "peak of all steps",
                *(["in host\nmemory"] if found.on_host else []),
                "states\nB/param",
                "tokens/s",
            ],
            rows=[_row(found, waterfall) for own in found.every for waterfall in own],
            caption=caption(
                inputs,
                found.pattern,
                f"Training {case.text('model')} in {found.precision.upper()}, batch "
                f"{case.text('batch')} of {case.text('seq')} tokens: GB (1e9 bytes) allocated "
                "after each stage of step 1. An optimizer is named after what vramfit keeps for "
                "it; below PyTorch stands which of its own is set beside, whose states have the "
                "weights' type unless they have 8 bits. Under autocast the FP32 weights are the "
                "parameters. States are what stays between steps beside what was loaded.",
            ),
            text_columns=frozenset({1}),
        )
    ]
