"""Table 3: the largest batch that fits a card."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vramfit_plots.captions import caption
from vramfit_plots.cards import Card
from vramfit_plots.cells import Cell
from vramfit_plots.cliffs import ROWS_PATTERN, Cliffs, load_cliffs, short_title
from vramfit_plots.inputs import Inputs
from vramfit_plots.printed_batches import Attempt, attempt
from vramfit_plots.sources import ARTICLE, COUNTED, PREDICTED, SOURCES
from vramfit_plots.strategies import Strategy
from vramfit_plots.tables.article_table import Line, Spoken, by_source, own_table
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MIB, MISSING, batch, gb, gigabytes, mib

_LINE = {
    "pred_cliff_base": "without a sequence\nGB",
    "pred_cliff_slope": "each adds\nGB",
}
_OF_LINE = (
    "Of tensors alone are what stands without a sequence and what each adds: the line through the "
    "largest batch and half of it. "
)


@dataclass(frozen=True)
class Answer:
    """One cell of the table."""

    heading: str
    vram: str  # as the article has it
    cell: Cell
    attempts: Mapping[str, Attempt]  # by source key, where the article prints a batch


def _answer(inputs: Inputs, heading: str, vram: str, entry: Mapping[str, Any]) -> Answer:
    row, printed = entry["row"], entry["max_batch"]
    cell = inputs.cell(row, "max_batch", printed, batch, entry)
    tried = {source.key: attempt(inputs, row, source, printed) for source in COUNTED}
    attempts = {key: one for key, one in tried.items() if one}
    below = {key: one.words for key, one in attempts.items()}
    return Answer(heading, vram, replace(cell, below=below), attempts)


def answers(inputs: Inputs) -> list[list[Answer]]:
    """To the article's columns, by card."""
    headings = inputs.article.oom_cliff["columns"][1:]
    return [
        [
            _answer(inputs, heading, row["vram"], entry)
            for heading, entry in zip(headings, row["cells"], strict=True)
        ]
        for row in inputs.article.oom_cliff["rows"]
    ]


def _words(inputs: Inputs, strategy: Strategy) -> str:
    """The article's table states no length: all of ours have the same."""
    usual = strategy.axes.get("seq") == str(inputs.article.oom_cliff["seq"])
    return strategy.words("seq") if usual else strategy.words()


def _by_code(cliffs: Cliffs, strategy: Strategy, card: Card) -> str:
    formula = cliffs.inputs.value(cliffs.rows.get((strategy, card.name)), "article_max_batch")
    return MISSING if formula is None else batch(formula)


def _strategy_rows(cliffs: Cliffs, strategy: Strategy) -> list[list[str]]:
    """A row for each who has figures."""
    cells = [cliffs.cell(strategy, card) for card in cliffs.cards]
    by_whom = {source.heading: [cell.text(source) for cell in cells] for source in SOURCES}
    code = [_by_code(cliffs, strategy, card) for card in cliffs.cards]
    article = {ARTICLE.heading: by_whom.pop(ARTICLE.heading), f"{ARTICLE.heading}'s code": code}
    return [
        [_words(cliffs.inputs, strategy), whose, *texts]
        for whose, texts in {**article, **by_whom}.items()
        if set(texts) != {MISSING}
    ]


def _strategies(inputs: Inputs, cliffs: Cliffs, unit: str) -> Table:
    return Table(
        key="table3_optimizers",
        title="Table 3 for every strategy",
        headings=["strategy", "whose", *map(cliffs.vram, cliffs.cards)],
        rows=[row for strategy in cliffs.strategies for row in _strategy_rows(cliffs, strategy)],
        caption=caption(
            inputs,
            ROWS_PATTERN,
            f"{unit} Optimizers are named after what they keep; LoRA adapts q_proj and v_proj, "
            "INT8 and NF4 weights are bitsandbytes' in PyTorch. The article's code is its "
            "find_max_batch_size with the model's true shape: it knows neither LoRA nor "
            f"checkpointing. {_sizes(inputs)} {_lora_under_a_cap(inputs)}".strip(),
        ),
        text_columns=frozenset({1}),
    )


def _left_over(cliffs: Cliffs, strategy: Strategy, card: Card) -> list[str]:
    cell, used = cliffs.cell(strategy, card), cliffs.taken(strategy, card)
    fits = used is not None and (cell.figure(PREDICTED) or 0) > 0
    return [
        _words(cliffs.inputs, strategy),
        short_title(card),
        cell.text(PREDICTED),
        gb(used, 2) if used is not None and fits else MISSING,
        gb(card.vram - used, 2) if used is not None and fits else MISSING,
    ]


def _line(cliffs: Cliffs) -> dict[str, str]:
    """Headings by counter of what tensors take without a sequence, and of what each adds, where
    the run has them."""
    rows, value = cliffs.rows.values(), cliffs.inputs.value
    return {c: said for c, said in _LINE.items() if any(value(row, c) is not None for row in rows)}


def _answers(inputs: Inputs, cliffs: Cliffs) -> Table:
    line = _line(cliffs)

    def of_line(strategy: Strategy, card: Card) -> list[str]:
        row = cliffs.rows[strategy, card.name]
        found = (inputs.value(row, counter) for counter in line)
        return [MISSING if value is None else gb(value, 2) for value in found]

    rows = [
        [*_left_over(cliffs, strategy, card), *of_line(strategy, card)]
        for strategy in cliffs.strategies
        for card in cliffs.cards
        if cliffs.cell(strategy, card).has(PREDICTED)
    ]
    return Table(
        key="table3_answers",
        title="Table 3: what is left over",
        headings=[
            "strategy",
            "card",
            "largest batch\nvramfit predicted",
            "taken at it\nGB",
            "left over\nGB",
            *line.values(),
        ],
        rows=rows,
        caption=caption(
            inputs,
            ROWS_PATTERN,
            "What is taken is all that the card has lost, driver and context included. "
            f"{_OF_LINE if line else ''}{_overheads(inputs)}",
        ),
        text_columns=frozenset({1}),
        long=True,
    )


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
    own, cliffs = answers(inputs), load_cliffs(inputs)
    unit = (
        f"Sequences of {article['seq']} tokens (the article states no length); "
        "OOM: not even one fits."
    )
    met = (
        "Met: the article's batch fits, as it is or with the least activation checkpointing that "
        "makes it fit."
    )
    beyond = f"{met} {_overheads(inputs)} {_lora_under_a_cap(inputs)}".strip()
    return [
        own_table(
            inputs,
            Spoken(
                "table3",
                f"Table 3: {article['caption']}",
                unit,
                f"{met} {_sizes(inputs)}",
                ROWS_PATTERN,
            ),
            article["columns"],
            [[row[0].vram, *(answer.cell for answer in row)] for row in own],
        ),
        by_source(
            inputs,
            Spoken("table3_sources", "Table 3 by source", unit, beyond, ROWS_PATTERN),
            article["columns"][0],
            _lines(own),
        ),
        _strategies(inputs, cliffs, unit),
        _answers(inputs, cliffs),
    ]
