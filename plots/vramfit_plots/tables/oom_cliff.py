"""Table 3: the largest batch that fits a card."""

from collections.abc import Iterator
from dataclasses import dataclass

from vramfit_plots.captions import caption
from vramfit_plots.cards import Card
from vramfit_plots.cells import Cell
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import PREDICTED
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, batch, gb, gigabytes, mib

ROWS_PATTERN = "^OomCliff/"


@dataclass(frozen=True)
class Answer:
    """One cell of the table."""

    heading: str
    card: Card
    row: str | None
    cell: Cell


def headings(inputs: Inputs) -> list[str]:
    """The article's columns, then ours."""
    article = inputs.article.oom_cliff
    return [*article["columns"], *(extra["heading"] for extra in article["extra_columns"])]


def answers(inputs: Inputs) -> Iterator[list[Answer]]:
    """By card."""
    for row in inputs.article.oom_cliff["rows"]:
        card = inputs.cards[row["gpu"]]
        entries = [*row["cells"], *row["extra_cells"]]
        yield [
            Answer(
                heading,
                card,
                entry["row"],
                inputs.cell(
                    entry["row"], "max_batch", entry.get("max_batch"), entry.get("needs"), batch
                ),
            )
            for heading, entry in zip(headings(inputs)[1:], entries, strict=True)
        ]


def short_title(card: Card) -> str:
    title = card.title.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return title.removesuffix(" Generation").removesuffix(" HBM3")


def taken(inputs: Inputs, row: str, source_prefix: str = PREDICTED.prefix) -> float | None:
    """What a card has lost to the run in all, driver included."""
    used = inputs.value(row, f"{source_prefix}device_used")
    card = inputs.cards.get(inputs.run.parse(row).axes.get("gpu", ""))
    return None if used is None or card is None else used + card.driver_reserved


def _detail(inputs: Inputs, answer: Answer) -> list[Cell | str]:
    predicted = answer.cell.figure(PREDICTED)
    formula = inputs.value(answer.row, "article_max_batch")
    used = taken(inputs, answer.row) if answer.row and predicted else None
    return [
        answer.heading,
        short_title(answer.card),
        answer.cell,
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


def build(inputs: Inputs) -> list[Table]:
    article = inputs.article.oom_cliff
    by_card = list(answers(inputs))
    every = [answer.cell for row in by_card for answer in row]
    ours = len(article["extra_columns"])

    rows: list[list[Cell | str]] = []
    for row, card_answers in zip(article["rows"], by_card, strict=True):
        card = card_answers[0].card
        head = f"{row['vram']}\n{short_title(card)}\n{mib(card.vram)}\n{gigabytes(card.vram)}"
        rows.append([head, *(answer.cell for answer in card_answers)])
    needs = sorted({cell.needs for cell in every if cell.needs})
    not_yet = f" Not yet: {', '.join(needs)}." if needs else ""
    return [
        Table(
            key="table3",
            title=f"Table 3: {article['caption']}",
            headings=headings(inputs),
            rows=rows,
            caption=caption(
                inputs,
                every,
                ROWS_PATTERN,
                f"Sequences of {article['seq']} tokens (the article states no length). "
                f"The last {ours} columns are not in the article. {_overheads(inputs)}{not_yet}",
                each_on_its_card=True,
            ),
        ),
        Table(
            key="table3_answers",
            title="Table 3, answer by answer",
            headings=[
                "case",
                "card",
                "largest batch",
                "by the article's code",
                "taken at it\nGB",
                "left over\nGB",
            ],
            rows=[_detail(inputs, answer) for row in by_card for answer in row if answer.row],
            caption=caption(
                inputs,
                every,
                ROWS_PATTERN,
                "The article's code is its find_max_batch_size with the model's true shape. "
                "Taken: all the card has lost, driver and context included.",
                each_on_its_card=True,
            ),
            long=True,
        ),
    ]
