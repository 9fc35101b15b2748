"""Table 4's last two columns, measured: what GPUs send each other, and how much more they do."""

from vramfit_plots.captions import caption
from vramfit_plots.inputs import Inputs
from vramfit_plots.scaling import TIMED, every_spread, scaling
from vramfit_plots.several_gpus import FAMILY, NAMES, Spread
from vramfit_plots.sources import MEASURED, PREDICTED
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, gb, number, percent, times

_PATTERN = f"^{FAMILY}/"
# What of the parameters' bytes P a rank sends in a step, as rings of N ranks do.
_SENT = {
    "ddp": "gradients summed: 2 (N\N{MINUS SIGN}1)/N P",
    "zero1": "gradients scattered, parameters gathered: 2 (N\N{MINUS SIGN}1)/N P",
    "zero2": "gradients scattered, parameters gathered: 2 (N\N{MINUS SIGN}1)/N P",
    "fsdp": "parameters gathered twice, gradients scattered: 3 (N\N{MINUS SIGN}1)/N P",
    "pipeline": "activations and their gradients, between stages",
}


def named(one: Spread) -> str:
    """ "FSDP / ZeRO-3 on 2 GPUs", and below it of what."""
    size = times(one.batch, one.seq)
    micro = [f"{one.micro_batches} micro-batches"] if one.micro_batches > 1 else []
    whose = ", ".join([f"{one.model} {one.precision} {one.optimizer}", size, *micro, *one.form])
    return f"{NAMES.get(one.strategy, one.strategy)} on {one.gpus} GPUs\n{whose}"


def _measured_first(inputs: Inputs, one: Spread) -> tuple:
    measured = inputs.value(one.row, f"{MEASURED.prefix}sent") is not None
    return (list(inputs.models).index(one.model), one.gpus, not measured)


def _communication(inputs: Inputs) -> Table:
    rows, known = [], set()
    for one in sorted(every_spread(inputs), key=lambda one: _measured_first(inputs, one)):
        # The optimizer is at home on each GPU, and only a pipeline sends what a batch makes.
        size = one.batch * one.micro_batches if one.strategy == "pipeline" else 0
        if (same := (one.model, one.strategy, one.gpus, size)) in known:
            continue
        known.add(same)
        sent = [inputs.value(one.row, f"{s.prefix}sent") for s in (PREDICTED, MEASURED)]
        if sent == [None, None]:
            continue
        predicted, measured = sent
        both = predicted is not None and measured is not None and predicted > 0
        rows.append(
            [
                named(one),
                _SENT[one.strategy],
                *(MISSING if value is None else gb(value, 2) for value in sent),
                percent(measured / predicted - 1, 2) if both else MISSING,
            ]
        )
    return Table(
        key="table4_communication",
        title="Table 4's communication: what a GPU sends in a step",
        headings=[
            "strategy",
            "what is sent",
            "predicted\nGB",
            "measured\nGB",
            "measured\nagainst it",
        ],
        rows=rows,
        caption=caption(
            inputs,
            _PATTERN,
            "GB (1e9 bytes) that one GPU sends the others in a training step. Predicted as rings "
            "of N GPUs send, P being the parameters' bytes; measured by NVLink's own counters.",
        ),
        text_columns=frozenset({1}),
    )


def _share(value: float | None) -> str:
    return MISSING if value is None else percent(value, signed=False)


def _scaling(inputs: Inputs) -> Table:
    rows = []
    for one in every_spread(inputs):
        for source in TIMED:
            found = scaling(inputs, one, source)
            if found is None:
                continue
            bubbles = [
                inputs.value(one.row, name) if source is MEASURED else None
                for name in ("pred_bubble", "bubble")
            ]
            ratio = MISSING if found.ratio is None else number(found.ratio, 2)
            rows.append(
                [
                    named(one),
                    source.heading,
                    number(found.tokens_per_second),
                    MISSING if found.alone is None else number(found.alone),
                    ratio,
                    _share(found.efficiency),
                    _share(found.exposed),
                    *map(_share, bubbles),
                ]
            )
    return Table(
        key="table4_scaling",
        title="Table 4's scaling: tokens a second against one GPU",
        headings=[
            "strategy",
            "whose",
            "tokens/s\nof all GPUs",
            "tokens/s\nof one GPU",
            "times\none GPU",
            "of N times",
            "not hidden\nof a step",
            "bubble\n(p\N{MINUS SIGN}1)/(m+p\N{MINUS SIGN}1)",
            "bubble\nmeasured",
        ],
        rows=rows,
        caption=caption(
            inputs,
            _PATTERN,
            "Of one GPU: the same micro-batches on it alone. Not hidden is how long a "
            "step's kernels wait for communication, of the step. The bubble is the share of a step "
            "in which one of p stages waits for the others, of m micro-batches.",
        ),
        text_columns=frozenset({1}),
    )


def build(inputs: Inputs) -> list[Table]:
    return [_communication(inputs), _scaling(inputs)]
