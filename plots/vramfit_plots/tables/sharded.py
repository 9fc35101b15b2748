"""What each of several GPUs takes: by optimizer as Table 4 counts it, and level by level."""

from vramfit_plots.article import shrinks
from vramfit_plots.captions import Caption, caption
from vramfit_plots.inputs import Inputs
from vramfit_plots.scaling import every_spread, out_of_memory
from vramfit_plots.several_gpus import FAMILY, NAMES, PER_PARAMETER, Spread
from vramfit_plots.sources import COUNTED, TORCH_MEASURED, Source
from vramfit_plots.tables.scaling import named
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, OOM, gb, number

_PATTERN = f"^{FAMILY}/"
_HELD = "step1_optimizer_after"
_LEVELS = {"allocated": "allocated", "reserved": "reserved", "device_used": "device used"}


def _gb(value: float | None) -> str:
    return MISSING if value is None else gb(value)


def _figure(inputs: Inputs, one: Spread, source: Source, counter: str) -> str:
    if out_of_memory(inputs, one, source):
        return OOM
    return _gb(inputs.value(one.row, source.prefix + counter))


def _said_by_the_article(inputs: Inputs, strategy: str, gpus: int, per_parameter: int) -> str:
    """At 8 bytes a parameter its table, at 16 its code: the strategies that it has."""
    article = inputs.article.multi_gpu
    codes = {"data-parallel": "ddp"}
    for row in article["rows"]:
        if codes.get(row["code"], row["code"]) != strategy:
            continue
        cell = next((cell for cell in row["cells"] if cell["gpus"] == gpus), None)
        if cell is None:
            return MISSING
        if per_parameter == 8:
            return number(cell["memory"])
        share = gpus if shrinks(row) else 1
        assumed = inputs.article.assumed_parameters()[article["model"]]
        return gb(16 * assumed / share) if per_parameter == 16 else MISSING
    return MISSING


def _by_optimizer(inputs: Inputs) -> Table:
    model = inputs.article.multi_gpu["model"]
    every = [one for one in every_spread(inputs) if one.model == model and not one.form]
    rows = []
    for one in every:
        values = [_figure(inputs, one, source, _HELD) for source in COUNTED]
        per_parameter = PER_PARAMETER.get(one.optimizer)
        if per_parameter is None or set(values) == {MISSING}:
            continue
        name = f"{NAMES[one.strategy]}, {one.gpus} GPUs"
        article = _said_by_the_article(inputs, one.strategy, one.gpus, per_parameter)
        rows.append([f"{name}\n{one.optimizer}", f"{per_parameter}", article, *values])
    return Table(
        key="table4_optimizers",
        title="Table 4 at 8, 12 and 16 bytes a parameter",
        headings=["strategy", "B/param", "article", *(source.heading for source in COUNTED)],
        rows=rows,
        caption=caption(
            inputs,
            _PATTERN,
            f"GB (1e9 bytes) of {model}'s weights, gradients and optimizer states on each GPU, "
            "after the first step of the optimizer. The article is its table at 8 B/param, its "
            "code at 16. PyTorch's AdamW has states in the weights' type, 8 B/param in 16 bits "
            "and 16 in FP32 under autocast or mixed precision; its DDP holds gradients again in "
            "buckets. Of a pipeline it is "
            "the GPU whose peak is highest: others keep fewer activations and more weights.",
        ),
    )


def _levels(inputs: Inputs) -> Table:
    rows = []
    for one in every_spread(inputs):
        sources = [s for s in COUNTED if inputs.value(one.row, f"{s.prefix}allocated") is not None]
        for source in sources:
            values = [_figure(inputs, one, source, level) for level in _LEVELS]
            nccl = inputs.value(one.row, "mem_nccl") if source.prefix == "mem_" else None
            rows.append([named(one), source.heading, *values, _gb(nccl)])
    return Table(
        key="table4_levels",
        title="What each GPU takes, level by level",
        headings=["strategy", "whose", *_LEVELS.values(), "of it NCCL's"],
        rows=rows,
        caption=caption(
            inputs,
            _PATTERN,
            "GB (1e9 bytes) of each GPU at the peak of two steps: activations and what is gathered "
            "are in it. PyTorch's are of its first GPU.",
        ),
        text_columns=frozenset({1}),
        long=True,
    )


def _measured(inputs: Inputs) -> Table:
    rows = []
    for one in every_spread(inputs):
        held, peak, speed = (
            inputs.value(one.row, TORCH_MEASURED.prefix + counter)
            for counter in (_HELD, "allocated", "tokens_per_second")
        )
        if peak is None:
            continue
        parameters = inputs.models[one.model].parameters
        rows.append(
            [
                named(one),
                _gb(held),
                MISSING if held is None else number(held * one.gpus / parameters, 1),
                gb(peak),
                MISSING if speed is None else number(speed),
            ]
        )
    return Table(
        key="table4_measured",
        title="Table 4: PyTorch on several GPUs, as measured",
        headings=[
            "strategy",
            "after the optimizer's step\nGB",
            "over all GPUs\nB/param",
            "peak of all steps\nGB",
            "tokens/s\nof all GPUs",
        ],
        rows=rows,
        caption=Caption(
            "GB (1e9 bytes) allocated on each GPU; weights, gradients and AdamW's states of one "
            "type, which under adamw-master is FP32. The peak has activations and, in FSDP, the "
            "parameters that are gathered."
        ),
    )


def build(inputs: Inputs) -> list[Table]:
    return [_by_optimizer(inputs), _levels(inputs), _measured(inputs)]
