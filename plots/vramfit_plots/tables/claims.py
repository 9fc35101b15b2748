"""What the article says outside its tables, beside the rows that answer it."""

from collections.abc import Callable, Mapping
from typing import Any

from vramfit_plots.captions import caption
from vramfit_plots.cells import Cell, sources_of
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import ARTICLE, COUNTED, Source
from vramfit_plots.tables.table import Table
from vramfit_plots.units import batch, gb, gigabytes, number, percent, with_unit

# A claim's own figure out of its row, for one source; None where the row does not hold it.
Answer = Callable[[Inputs, str, Source], float | None]


def _kv_bytes(inputs: Inputs, row: str, source: Source) -> float | None:
    return inputs.value(row, f"{source.prefix}kv_cache")


def _kv_bytes_per_token(inputs: Inputs, row: str, source: Source) -> float | None:
    return inputs.value(row, f"{source.prefix}kv_bytes_per_token")


def outside_the_allocator(inputs: Inputs, row: str, source: Source) -> float | None:
    """What the card lost beyond what the step asked for, as a share of the latter."""
    asked = inputs.value(row, f"{source.prefix}allocated")
    used = inputs.value(row, f"{source.prefix}device_used")
    return used / asked - 1 if asked and used is not None else None


def _optimizer_state(inputs: Inputs, row: str, source: Source) -> float | None:
    return inputs.value(row, f"{source.prefix}optimizer_state")


def _master_weights(inputs: Inputs, row: str, source: Source) -> float | None:
    """What fp32 master weights add to the optimizer's states."""
    with_master = _optimizer_state(inputs, row, source)
    without = _optimizer_state(inputs, row.replace("adamw-master", "adamw"), source)
    return None if with_master is None or without is None else with_master - without


def _max_batch(inputs: Inputs, row: str, source: Source) -> float | None:
    return inputs.value(row, f"{source.prefix}max_batch")


def _largest_batch(value: float) -> str:
    return f"{batch(value)}" if value <= 0 else f"fits: batch {batch(value)}"


_ANSWERS: Mapping[str, tuple[Answer, Callable[[float], str]]] = {
    "kv_bytes_per_token": (_kv_bytes_per_token, lambda value: with_unit(number(value), "bytes")),
    "kv_cache_total": (_kv_bytes, lambda value: gigabytes(value, 2)),
    "outside_the_allocator": (outside_the_allocator, lambda value: percent(value, signed=False)),
    "master_weights_extra": (_master_weights, gigabytes),
    "master_weights_optimizer": (_optimizer_state, gigabytes),
    "adam_7b_does_not_fit": (_max_batch, _largest_batch),
}


def cell(inputs: Inputs, claim: Mapping[str, Any]) -> Cell | None:
    """None where no row will ever answer the claim."""
    if claim["row"] is None:
        return Cell({}, claim["needs"]) if "needs" in claim else None
    answer, form = _ANSWERS.get(claim["id"], (lambda *_: None, gb))
    figures = {source.key: answer(inputs, claim["row"], source) for source in COUNTED}
    return Cell(figures, form=form)


def build(inputs: Inputs) -> list[Table]:
    answered = [(claim, cell(inputs, claim)) for claim in inputs.article.claims]
    every = [one for _, one in answered if one]
    shown = [source for source in sources_of(every) if source is not ARTICLE]
    rows: list[list[Cell | str]] = [
        [claim["text"], *(one.text(source) for source in shown), one.needs or claim["row"]]
        for claim, one in answered
        if one
    ]
    return [
        Table(
            key="claims",
            title="Claims outside the tables",
            headings=[
                f"the {ARTICLE.key} says",
                *(s.heading for s in shown),
                "row, or what it needs",
            ],
            rows=rows,
            caption=caption(inputs, every, "^(KvCache|Training|OomCliff)/"),
            text_columns=frozenset({0, 1 + len(shown)}),
        )
    ]
