"""What activation checkpointing saves, and what time it takes."""

from vramfit_plots.captions import caption
from vramfit_plots.checkpointing import NONE, Forward, Pair, load_pairs
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.strategies import strategy_of
from vramfit_plots.tables.footnotes import Footnotes
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, gb, number, percent, times


def _at_peak(forward: Forward, footnotes: Footnotes) -> str:
    if forward.at_peak is None:
        return MISSING
    figure, by = gb(forward.at_peak, 2), forward.at_peak_by
    return figure if by is forward.source else footnotes.signed(figure, by.heading)


def _case(inputs: Inputs, row: str) -> str:
    name = inputs.run.parse(row)
    size = times(name.number("batch"), f"{name.number('seq'):,}").strip()
    return f"{strategy_of(name).words('seq')}\n{size} tokens"


def _row(inputs: Inputs, pair: Pair, footnotes: Footnotes) -> list[str]:
    forward = pair.forward
    plain = forward.way == NONE
    return [
        _case(inputs, forward.case),
        forward.way,
        forward.source.heading,
        gb(forward.kept, 2),
        MISSING if plain else number(1 / pair.kept, 1),
        _at_peak(forward, footnotes),
        gb(forward.peak),
        MISSING if plain else percent(pair.peak - 1, 0),
        MISSING if pair.time is None or plain else percent(pair.time, 0),
    ]


def build(inputs: Inputs) -> list[Table]:
    try:
        cases = load_pairs(inputs)
    except AbsentError:
        return []
    footnotes = Footnotes()
    rows = [_row(inputs, pair, footnotes) for pairs in cases.values() for pair in pairs]
    return [
        Table(
            key="checkpointing",
            title="Activation checkpointing: memory saved, time paid",
            headings=[
                "case",
                "computed again",
                "whose",
                "kept by forward\nGB",
                "times less",
                "activations and workspace at the peak\nGB",
                "peak of all steps\nGB",
                "peak against none",
                "time against none",
            ],
            rows=rows,
            caption=caption(
                inputs,
                "^Training/.*/checkpoint:",
                f"{footnotes.text} The article says 5 to 10 times less activation memory for "
                "about 30 % more time. Kept by forward is what stands after the first forward pass "
                "beyond the model. Where every block computes all again, full training's peak "
                "moves to the end of backward: gradients are there, and few activations. Selective "
                "computes again what the MLP's first half wrote.".strip(),
            ),
            text_columns=frozenset({1, 2}),
        )
    ]
