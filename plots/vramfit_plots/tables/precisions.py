"""What a model takes by what its weights are stored in, and what that costs."""

from vramfit_plots.captions import caption, said
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.precisions import BASE, BATCH_BY_SEQUENCE, Precisions, load_precisions
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, gb, number

RANDOM = (
    "The model's weights are random: the error says how far a format's rounding grows through the "
    "layers, and nothing of quality. The loss is that of a small llama that was trained on a "
    "Markov chain for seconds, on held-out text: which format costs more it tells, not what a "
    "large language model would lose."
)


def _memory(found: Precisions) -> Table:
    parameters = found.inputs.models[found.model].parameters
    rows = []
    for precision in found.precisions:
        weights = found.weights(precision)
        peaks = (found.bytes(precision, point, "allocated") for point in found.points)
        head = [precision, gb(weights, 2), number(weights / parameters, 3)]
        rows.append([*head, *(gb(peak) for peak in peaks)])
    whose = said(found.inputs, found.source)
    return Table(
        key="precisions",
        title="Inference by format",
        headings=["weights in", "weights\nGB", "B/param", *(f"{p.text}\nGB" for p in found.points)],
        rows=rows,
        caption=caption(
            found.inputs,
            found.pattern,
            f"Of {found.model}: GB (1e9 bytes) of weights, and the peak allocated at "
            f"{BATCH_BY_SEQUENCE}, {whose}. Of formats of 8 and 4 bits the linears' weights are "
            f"stored so, with their scales; embeddings, norms, head and cache stay in {BASE}. "
            "int8 multiplies 8 bits by 8 bits, int8-wo, nf4 and int4 hold weights alone so; nf4 "
            "is bitsandbytes' codes, int4 uniform in groups of 128, as AWQ and GPTQ store it.",
        ),
    )


def _figure(value: float | None, decimals: int) -> str:
    return MISSING if value is None else number(value, decimals)


def _rounding(found: Precisions) -> Table:
    rows = []
    for precision in found.precisions:
        error, loss, exact = (
            found.of(precision, counter)
            for counter in ("logits_error", "trained_loss", "trained_loss_fp32")
        )
        above = None if loss is None or exact is None else loss - exact
        if error is None and above is None:
            continue
        percents = None if error is None else 100 * error
        head = [precision, gb(found.weights(precision), 2)]
        figures = [_figure(percents, 2), _figure(loss, 4), _figure(exact, 4)]
        signed = MISSING if above is None else number(above, 4, signed=True)
        rows.append([*head, *figures, signed])
    return Table(
        key="rounding",
        title="What fewer bits cost",
        headings=[
            "weights in",
            "weights\nGB",
            "logits' error\n%",
            "trained loss\nnats",
            "in fp32\nnats",
            "above fp32\nnats",
        ],
        rows=rows,
        caption=caption(
            found.inputs,
            found.pattern,
            f"Logits of {found.model} against those of the same weights in fp32: the distance over "
            f"their length, measured. {RANDOM}",
        ),
    )


def build(inputs: Inputs) -> list[Table]:
    try:
        found = load_precisions(inputs)
    except AbsentError:
        return []
    return [_memory(found)]


def build_rounding(inputs: Inputs) -> list[Table]:
    """Nothing where nothing was measured."""
    try:
        found = load_precisions(inputs)
    except AbsentError:
        return []
    return [_rounding(found)]
