"""Training adapters, by what the frozen base is stored in."""

from vramfit_plots.captions import caption
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.lora import Trained, adapters, load_lora
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, gb, number

_MILLION = 1e6


def _row(one: Trained) -> list[str]:
    speed, trained = one.tokens_per_second, one.adapters
    return [
        f"{one.base}\n{one.targets}" if one.targets else one.base,
        one.checkpointing,
        one.source.heading,
        gb(one.weights, 2),
        MISSING if trained is None else number(trained / _MILLION, 1),
        gb(one.states, 2),
        gb(one.peak),
        MISSING if speed is None else number(speed),
    ]


def build(inputs: Inputs) -> list[Table]:
    try:
        found = load_lora(inputs)
    except AbsentError:
        return []
    case = inputs.run.parse(found.row)
    return [
        Table(
            key="lora",
            title="LoRA by what the frozen weights are stored in",
            headings=[
                "base",
                "checkpointing",
                "whose",
                "weights\nGB",
                "trained\nmillions",
                "their gradients and states\nGB",
                "peak of all steps\nGB",
                "tokens/s",
            ],
            rows=[_row(one) for own in found.cases for one in own],
            caption=caption(
                inputs,
                found.pattern,
                f"Training {case.text('model')} with LoRA of {adapters(inputs, found.row)}, or on "
                f"what stands below the base; batch {case.text('batch')} of {case.text('seq')} "
                "tokens. GB are 1e9 bytes; weights are those of base and adapters. INT8 is "
                "vramfit's own W8A8 and bitsandbytes' LLM.int8() in PyTorch, NF4 of both is "
                "bitsandbytes' format; nf4-dq quantises its scales too. PEFT keeps the other "
                "weights of a quantised model, embeddings among them, in FP32. Of a peak that is "
                "predicted there is no speed.",
            ),
            text_columns=frozenset({1, 2}),
        )
    ]
