"""What PyTorch was measured to take of each of several GPUs, as it was measured."""

from vramfit_plots.captions import Caption
from vramfit_plots.inputs import Inputs
from vramfit_plots.row_name import family
from vramfit_plots.sources import TORCH_MEASURED
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, gb, number, times

_FAMILY = "MultiGpu"
_NAMES = {"ddp": "DDP", "fsdp": "FSDP2"}


def _row(inputs: Inputs, name: str) -> list[str]:
    case = inputs.run.parse(name)
    *_, strategy, gpus = name.split("/")
    count = int(gpus.removeprefix("gpus:"))
    held, peak, speed = (
        inputs.value(name, TORCH_MEASURED.prefix + counter)
        for counter in ("step1_optimizer_after", "allocated", "tokens_per_second")
    )
    parameters = inputs.models[case.text("model")].parameters
    size = times(case.number("batch"), case.number("seq"))
    return [
        f"{_NAMES.get(strategy, strategy)} on {count} GPUs\n{case.text('model')}, {size} on each",
        MISSING if held is None else gb(held),
        MISSING if held is None else number(held * count / parameters, 1),
        MISSING if peak is None else gb(peak),
        MISSING if speed is None else number(speed),
    ]


def build(inputs: Inputs) -> list[Table]:
    names = [name for name in inputs.reference.rows.index if family(name) == _FAMILY]
    return [
        Table(
            key="table4_measured",
            title="Table 4: PyTorch on several GPUs, as measured",
            headings=[
                "strategy",
                "after the optimizer's step\nGB",
                "over all GPUs\nB/param",
                "peak of all steps\nGB",
                "tokens/s\nof all GPUs",
            ],
            rows=[_row(inputs, name) for name in names],
            caption=Caption(
                "GB (1e9 bytes) allocated on each GPU; BF16 weights, gradients and AdamW's states. "
                "The peak has activations and, in FSDP, the parameters that are gathered."
            ),
        )
    ]
