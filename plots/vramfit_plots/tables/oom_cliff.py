"""Table 3: the largest batch that fits a card."""

from collections.abc import Iterator
from dataclasses import dataclass

from vramfit_plots.captions import caption
from vramfit_plots.cards import Card
from vramfit_plots.cells import Cell
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import PREDICTED
from vramfit_plots.tables.article_table import Line, Spoken, by_source, own_table
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MIB, MISSING, batch, gb, gigabytes, mib

ROWS_PATTERN = "^OomCliff/"


@dataclass(frozen=True)
class Answer:
    """One cell of the table."""

    heading: str
    vram: str  # as the article has it
    card: Card
    row: str | None
    cell: Cell


def _answers(inputs: Inputs, part: str, headings: list[str]) -> Iterator[list[Answer]]:
    """By card."""
    for row in inputs.article.oom_cliff["rows"]:
        card = inputs.cards[row["gpu"]]
        yield [
            Answer(
                heading,
                row["vram"],
                card,
                entry["row"],
                inputs.cell(entry["row"], "max_batch", entry.get("max_batch"), batch, entry),
            )
            for heading, entry in zip(headings, row[part], strict=True)
        ]


def answers(inputs: Inputs) -> list[list[Answer]]:
    """To the article's columns."""
    return list(_answers(inputs, "cells", inputs.article.oom_cliff["columns"][1:]))


def further_answers(inputs: Inputs) -> list[list[Answer]]:
    """To columns of ours."""
    headings = [extra["heading"] for extra in inputs.article.oom_cliff["extra_columns"]]
    return list(_answers(inputs, "extra_cells", headings))


def short_title(card: Card) -> str:
    title = card.title.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return title.removesuffix(" Generation").removesuffix(" HBM3")


def taken(inputs: Inputs, row: str, source_prefix: str = PREDICTED.prefix) -> float | None:
    """What a card has lost to the run in all, driver included."""
    used = inputs.value(row, f"{source_prefix}device_used")
    card = inputs.cards.get(inputs.run.parse(row).axes.get("gpu", ""))
    return None if used is None or card is None else used + card.driver_reserved


def _detail(inputs: Inputs, answer: Answer) -> list[str]:
    predicted = answer.cell.figure(PREDICTED)
    formula = inputs.value(answer.row, "article_max_batch")
    used = taken(inputs, answer.row) if answer.row and predicted else None
    return [
        answer.heading,
        short_title(answer.card),
        answer.cell.text(PREDICTED),
        MISSING if formula is None else batch(formula),
        MISSING if used is None else gb(used, 2),
        MISSING if used is None else gb(answer.card.vram - used, 2),
    ]


def _overheads(inputs: Inputs) -> str:
    """What is taken from each card before a run, and who says so."""
    names = [row["gpu"] for row in inputs.article.oom_cliff["rows"]]
    cards = [inputs.cards[name] for name in names]
    parts = []
    for overhead in dict.fromkeys(card.overhead for card in cards):
        sharing = [card for card in cards if card.overhead == overhead]
        sources = {card.assumed_from for card in sharing} - {None}
        assumed = "".join(
            f", assumed from the {short_title(inputs.cards[source])}" for source in sorted(sources)
        )
        who = "each card" if len(sharing) == len(cards) else ", ".join(map(short_title, sharing))
        parts.append(f"{mib(overhead)} of {who}{assumed}")
    return f"Driver, context and libraries take {'; '.join(parts)}."


def _sizes(inputs: Inputs) -> str:
    """The cards that stand for the article's sizes."""
    cards = (
        f"{row['vram']}: {short_title(card)}, {gigabytes(card.vram)}"
        for row in inputs.article.oom_cliff["rows"]
        for card in [inputs.cards[row["gpu"]]]
    )
    capped = (
        " vramfit was measured on one card, capped to each size in turn."
        if inputs.run.measured
        else ""
    )
    return f"Cards that stand for the sizes: {'; '.join(cards)}.{capped}"


def _lora_under_a_cap(inputs: Inputs) -> str:
    """PyTorch's were measured otherwise than the table asks."""
    found = [
        f"{number} within {mib(cap * MIB)}"
        for cap, number in inputs.reference.lora_max_batch.items()
    ]
    return (
        f"PyTorch's largest batches with LoRA were measured under a cap on its allocator alone, "
        f"with the context on top: {', '.join(found)}."
        if found
        else ""
    )


def _lines(by_card: list[list[Answer]]) -> list[Line]:
    """By column, as one compares."""
    return [
        Line(f"{answer.vram}\n{answer.heading}", answer.cell)
        for column in zip(*by_card, strict=True)
        for answer in column
    ]


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.oom_cliff
    own, further = answers(inputs), further_answers(inputs)
    unit = (
        f"Sequences of {article['seq']} tokens (the article states no length); "
        "OOM: not even one fits."
    )
    beyond = f"{_overheads(inputs)} {_lora_under_a_cap(inputs)}".strip()
    return [
        own_table(
            inputs,
            Spoken("table3", f"Table 3: {article['caption']}", unit, _sizes(inputs), ROWS_PATTERN),
            article["columns"],
            [[row[0].vram, *(answer.cell for answer in row)] for row in own],
        ),
        by_source(
            inputs,
            Spoken("table3_sources", "Table 3 by source", unit, beyond, ROWS_PATTERN),
            article["columns"][0],
            _lines(own),
        ),
        by_source(
            inputs,
            Spoken(
                "table3_optimizers",
                "Table 3 for other optimizers and models",
                f"{unit} None of this is in the article.",
                _sizes(inputs),
                ROWS_PATTERN,
            ),
            article["columns"][0],
            _lines(further),
        ),
        Table(
            key="table3_answers",
            title="Table 3: what is left over",
            headings=[
                "case",
                "card",
                "largest batch\nvramfit predicted",
                "by the article's code",
                "taken at it\nGB",
                "left over\nGB",
            ],
            rows=[
                _detail(inputs, answer) for row in (*own, *further) for answer in row if answer.row
            ],
            caption=caption(
                inputs,
                ROWS_PATTERN,
                "The article's code is its find_max_batch_size with the model's true shape. "
                "What is taken is all that the card has lost, driver and context included. "
                f"{_overheads(inputs)}",
            ),
            text_columns=frozenset({1}),
            long=True,
        ),
    ]
