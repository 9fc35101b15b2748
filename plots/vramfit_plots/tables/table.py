"""A table: what it holds, and how it is written as bare HTML and Markdown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from operator import attrgetter
from typing import Any

from vramfit_plots.captions import Caption
from vramfit_plots.units import MISSING

_MANY = 6  # columns: more need smaller type


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
    headings: list[str]
    rows: list[list[str]]
    caption: Caption
    text_columns: frozenset[int] = frozenset()  # that read from the left
    long: bool = False  # of interest to those who look for one row: folded up in the report

    def __post_init__(self) -> None:
        if any(len(row) != len(self.headings) for row in self.rows):
            raise ValueError(f"{self.key}: a row is not as long as the headings")


def listing(
    key: str,
    title: str,
    columns: Sequence[Column],
    items: Iterable[Any],
    caption: Caption,
    *,
    long: bool = False,
) -> Table:
    """A row for each item."""
    headings = [column.heading for column in columns]
    rows = [[column.entry(item) for column in columns] for item in items]
    text = frozenset(i for i, column in enumerate(columns) if column.text)
    return Table(key, title, headings, rows, caption, text, long)


def _html_text(text: str) -> str:
    text = escape(text, quote=False)
    if " " not in text:
        text = text.replace("/", "/<wbr>")  # a row's name may break between its axes
    head, *small = text.split("\n")
    return head + "".join(f"<br><small>{line}</small>" for line in small)


def _html_class(table: Table, column: int) -> str:
    return ' class="text"' if column in table.text_columns else ""


def html_table(table: Table) -> str:
    """The bare <table>, for a page that has its own style."""
    lines = ['<table class="wide">' if len(table.headings) > _MANY else "<table>"]
    lines += ["<thead>", "<tr>"]
    for i, heading in enumerate(table.headings):
        lines.append(f'<th scope="col"{_html_class(table, i)}>{_html_text(heading)}</th>')
    lines += ["</tr>", "</thead>", "<tbody>"]
    for head, *entries in table.rows:
        row = f'<tr><th scope="row"{_html_class(table, 0)}>{_html_text(head)}</th>'
        for i, entry in enumerate(entries, 1):
            row += f"<td{_html_class(table, i)}>{_html_text(entry)}</td>"
        lines.append(row + "</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def html_fragment(table: Table) -> str:
    return (
        f'<figure>\n<div style="overflow-x:auto">\n{html_table(table)}\n</div>\n'
        f"<figcaption>{escape(table.caption.note)}</figcaption>\n</figure>\n"
    )


def _markdown_entry(entry: str) -> str:
    return entry.replace("|", "\\|").replace("\n", "<br>")


def _markdown_row(entries: list[str]) -> str:
    return "| " + " | ".join(entries) + " |"


def markdown_fragment(table: Table) -> str:
    left = {0, *table.text_columns}
    aligned = ["---" if i in left else "---:" for i in range(len(table.headings))]
    lines = [_markdown_row([_markdown_entry(heading) for heading in table.headings])]
    lines.append(_markdown_row(aligned))
    lines += [_markdown_row([_markdown_entry(entry) for entry in row]) for row in table.rows]
    return "\n".join(lines) + "\n\n" + table.caption.note + "\n"
