"""A table: what it holds, and how it is written as bare HTML, as Markdown and for a terminal."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from operator import attrgetter
from pathlib import Path
from typing import Any

from vramfit_plots import words
from vramfit_plots.units import MISSING

_MANY, _VERY_MANY = 6, 12  # columns: more need smaller type
_HALF_A_PAGE, _BETWEEN = 80, 2  # letters, and those that take as much as what parts two columns


@dataclass(frozen=True)
class Column:
    """`of` names an attribute of a row's item, or computes from it; `form` writes what is found,
    with so many decimals. What is None is missing."""

    heading: str
    of: str | Callable[[Any], Any]
    form: Callable[..., str] = str
    decimals: int | None = None
    text: bool = False  # reads from the left

    def entry(self, item: Any) -> str:
        value = self.of(item) if callable(self.of) else attrgetter(self.of)(item)
        if value is None:
            return MISSING
        return self.form(value) if self.decimals is None else self.form(value, self.decimals)


@dataclass(frozen=True)
class Table:
    """A row's first entry is its head. A line break in a text puts what follows in small type."""

    key: str  # also its fragment's file name
    title: str
    note: str  # how to read it
    headings: list[str]
    rows: list[list[str]]
    command: str = ""  # makes its rows again; "" where it has none of ours
    text_columns: frozenset[int] = frozenset()  # that read from the left
    long: bool = False  # of interest to those who look for one row: on a page of its own
    marked: frozenset[tuple[int, int]] = frozenset()  # entries that stand out, by row and column

    def __post_init__(self) -> None:
        if any(len(row) != len(self.headings) for row in self.rows):
            raise ValueError(f"{self.key}: a row is not as long as the headings")

    @property
    def narrow(self) -> bool:
        """Whether it has room beside a picture."""
        columns = zip(self.headings, *self.rows, strict=True)
        widths = (max(len(line) for e in column for line in e.split("\n")) for column in columns)
        return sum(width + _BETWEEN for width in widths) <= _HALF_A_PAGE


def listing(
    key: str,
    columns: Sequence[Column],
    items: Iterable[Any],
    command: str = "",
    *,
    long: bool = False,
    **figures: Any,
) -> Table:
    """A row for each item; title and note are those of words.json, with these figures in them."""
    headings = [column.heading for column in columns]
    rows = [[column.entry(item) for column in columns] for item in items]
    text = frozenset(i for i, column in enumerate(columns) if column.text)
    said = words.title_and_note(key, **figures)
    return Table(key, *said, headings, rows, command, text, long)


def _html_text(text: str) -> str:
    text = escape(text, quote=False)
    if " " not in text:
        text = text.replace("/", "/<wbr>")  # a row's name may break between its axes
    head, *small = text.split("\n")
    return head + "".join(f"<br><small>{line}</small>" for line in small)


def html_table(table: Table) -> str:
    """The bare <table>, for a page that has its own style."""

    def cell(tag: str, column: int, text: str, row: int = -1) -> str:
        kinds = ["text"] if column in table.text_columns else []
        kinds += ["off"] if (row, column) in table.marked else []
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        return f"<{tag}{kind}>{_html_text(text)}</{tag[:2]}>"

    count = len(table.headings)
    kind = "wide widest" if count > _VERY_MANY else "wide" if count > _MANY else ""
    lines = [f'<table class="{kind}">' if kind else "<table>"]
    lines += ["<thead>", "<tr>"]
    lines += [cell('th scope="col"', i, heading) for i, heading in enumerate(table.headings)]
    lines += ["</tr>", "</thead>", "<tbody>"]
    for i, (head, *entries) in enumerate(table.rows):
        row = "".join(cell("td", j, entry, i) for j, entry in enumerate(entries, 1))
        first = cell('th scope="row"', 0, head)
        lines.append(f"<tr>{first}{row}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def html_fragment(table: Table) -> str:
    return (
        f'<figure>\n<div style="overflow-x:auto">\n{html_table(table)}\n</div>\n'
        f"<figcaption>{escape(table.note)}</figcaption>\n</figure>\n"
    )


def markdown_fragment(table: Table) -> str:
    left = {0, *table.text_columns}
    aligned = ["---" if i in left else "---:" for i in range(len(table.headings))]
    lines = [
        [entry.replace("|", "\\|").replace("\n", "<br>") for entry in line]
        for line in (table.headings, aligned, *table.rows)
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + f"\n{table.note}\n"


def write_fragments(tables: Iterable[Table], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        (folder / f"{table.key}.html").write_text(html_fragment(table), encoding="utf-8")
        (folder / f"{table.key}.md").write_text(markdown_fragment(table), encoding="utf-8")


def text_table(table: Table) -> str:
    """For a terminal. Columns are as wide as they need; the last may be long."""
    lines = [[e.replace("\n", ", ") for e in line] for line in (table.headings, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = {0, *table.text_columns}
    text = [table.title, ""]
    for line in lines:
        entries = [
            entry.ljust(width) if i in left else entry.rjust(width)
            for i, (entry, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  " + "  ".join(entries).rstrip())
    return "\n".join([*text, "", f"  {table.note}", ""])
