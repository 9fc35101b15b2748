"""Items about Tables 3 and 4: what fits a card, and several."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from vramfit_plots import article_code
from vramfit_plots.contradictions.common import differ, how, ours, pytorch, sharded, table_2_case
from vramfit_plots.inputs import Inputs
from vramfit_plots.printed_batches import attempt
from vramfit_plots.sources import OURS, THEIRS, TORCH_MEASURED, Source
from vramfit_plots.tables import multi_gpu
from vramfit_plots.units import GB, MIB, OOM, batch, gb, gigabytes, in_words, mib, number

_STATES = {"adamw": "FP32", "adamw-same": "FP16"}  # of optimizers: what m and v are kept in


def adam_does_fit(inputs: Inputs) -> str | None:
    claim = inputs.article.claim("adam_7b_does_not_fit")
    row = claim["row"]
    case = inputs.run.parse(row)
    card = inputs.cards[case.text("gpu")]
    fitting = []
    for optimizer, states in _STATES.items():
        name = row.replace("/adamw/", f"/{optimizer}/")
        source = ours(inputs, name, "max_batch")
        largest = inputs.need(name, f"{source.prefix}max_batch")
        if largest > 0:
            fitting.append(f"batch {number(largest)} with m and v in {states} ({how(source)})")
    if not fitting:
        return None
    batch, seq = table_2_case(inputs).number("batch"), case.number("seq")
    taken = pytorch(inputs, "adamw-same", "device_used")
    measured = (
        f" PyTorch's fused AdamW takes {gigabytes(taken)} at batch {batch} in BF16 (measured)."
        if taken < card.vram
        else ""
    )
    printed = {row["cells"][0]["max_batch"] for row in inputs.article.oom_cliff["rows"]}
    table = "; Table 3 has OOM at every size" if printed == {OOM} else ""
    return (
        f"The article says: {claim['text']}{table}. Into the {gigabytes(card.vram)} of an "
        f"{card.title} vramfit fits {in_words(fitting)}, of {seq} tokens each.{measured}"
    )


def _on_int8(inputs: Inputs, article: Mapping[str, Any]) -> str:
    """What PyTorch takes at a batch below the smallest printed one, where that is more than its
    card has."""
    row = next(row for row in article["rows"] if isinstance(row["cells"][-1]["max_batch"], int))
    card, printed = inputs.cards[row["gpu"]], row["cells"][-1]["max_batch"]
    model = inputs.article.inference["model"]
    start, end = f"Training/{model}/int8/adamw/batch:", f"/seq:{article['seq']}/lora:16"
    for name in inputs.rows.index:
        if not (name.startswith(start) and name.endswith(end)):
            continue
        batch = inputs.run.parse(name).number("batch")
        taken = inputs.value(name, f"{TORCH_MEASURED.prefix}device_used")
        if batch <= printed and taken is not None and taken > card.vram:
            return (
                f" On bitsandbytes' INT8 weights batch {batch} was measured to take "
                f"{gigabytes(taken)}, more than the {gigabytes(card.vram)} of the card for which "
                f"the table has batch {printed}."
            )
    return ""


def lora_column(inputs: Inputs) -> str | None:
    article = inputs.article.oom_cliff
    column = article["columns"][-1]
    printed = {row["vram_gb"]: row["cells"][-1]["max_batch"] for row in article["rows"]}
    coded = [article_code.largest_batch(inputs, "int8", article["seq"], vram) for vram in printed]
    numbers = {vram: n for vram, n in printed.items() if isinstance(n, int)}
    if any(coded) or not numbers:
        return None
    sizes = list(numbers)
    slopes = [(numbers[b] - numbers[a]) / (b - a) for a, b in pairwise(sizes)]
    measured = ", ".join(
        f"{n} in {mib(cap * MIB)}" for cap, n in inputs.reference.lora_max_batch.items()
    )
    rises = " and ".join(number(slope, 1) for slope in slopes)
    line = f", rises by {rises} a GB rather than in a line" if differ(*slopes) else ""
    return (
        f"The column {column} ({', '.join(str(n) for n in printed.values())}) states no sequence "
        f"length{line}, and the article's find_max_batch_size gives 0 in every row. PyTorch with "
        f"LoRA on BF16 weights was measured to fit batches of {article['seq']} tokens: {measured} "
        f"for its allocator.{_on_int8(inputs, article)}{_largest_batches(inputs, article)}"
    )


def _largest_batches(inputs: Inputs, article: Mapping[str, Any]) -> str:
    """What each side fits where the column's figures stand, and what it takes to meet them."""
    entries = [row["cells"][-1] for row in article["rows"]]
    said = ""
    for sources in (OURS, THEIRS):
        source = next((s for s in sources if _fits(inputs, entries, s)), None)
        if source is not None:
            whose = entries[0]["whose"][source.side]
            found = in_words(_fits(inputs, entries, source))
            said += f" {source.heading}, {whose}: {found}."
    return said


def _fits(inputs: Inputs, entries: Iterable[Mapping[str, Any]], source: Source) -> list[str]:
    """Every cell's largest batch in words; nothing where one is not known."""
    found = []
    for entry in entries:
        row, printed = entry["row"], entry["max_batch"]
        largest = inputs.value(row, f"{source.prefix}max_batch")
        if largest is None:
            return []
        tried = attempt(inputs, row, source, printed)
        found.append(batch(largest) + (f" ({printed} is {tried.words})" if tried else ""))
    return found


def table_4_and_code(inputs: Inputs) -> str | None:
    article = inputs.article.multi_gpu
    assumed = inputs.article.assumed_parameters()[article["model"]]
    row, whole = (inputs.article.shared_by(whole=whole) for whole in (False, True))
    strategy, cell = row["strategy"], row["cells"][0]
    printed = [whole["cells"][0]["memory"] * GB, *(c["memory"] * GB for c in row["cells"])]
    coded = [
        multi_gpu.by_the_code(inputs, whole["strategy"], cell["gpus"]),
        *(multi_gpu.by_the_code(inputs, strategy, c["gpus"]) for c in row["cells"]),
    ]
    if not differ(printed[0], coded[0]):
        return None
    fsdp = sharded(inputs, "fsdp", cell["gpus"])
    held = cell["gpus"] * inputs.need(fsdp.row, f"{TORCH_MEASURED.prefix}step1_optimizer_after")
    measured = held / inputs.models[fsdp.model].parameters
    return (
        f"Table 4's {', '.join(gb(v, 0) for v in printed)} GB are "
        f"{number(printed[0] / assumed)} B/param; the article's code counts "
        f"{number(coded[0] / assumed)} B/param, which would give "
        f"{', '.join(gb(v, 0) for v in coded)} GB. The two count different optimizers: the code "
        "adds FP32 master weights. PyTorch's FSDP, with AdamW's m and v in BF16 and no master "
        f"weights, was measured to hold {number(measured, 1)} B/param after a step."
    )
