"""A table: what it holds, and how it is written as bare HTML and Markdown."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from vramfit_plots.captions import Caption
from vramfit_plots.cells import Cell, sources_of
from vramfit_plots.sources import PREDICTED, Source

_MANY = 6  # columns: more need smaller type
_WIDE = '<table class="wide">'


@dataclass(frozen=True)
class Table:
    """A row's first entry is its head. A line break in a text puts what follows in small type."""

    key: str  # also its fragment's file name
    title: str
    headings: list[str]
    rows: list[list[Cell | str]]
    caption: Caption
    text_columns: frozenset[int] = frozenset()  # that read from the left
    long: bool = False  # of interest to those who look for one row: folded up in the report
    sources: list[Source] = field(init=False)

    def __post_init__(self) -> None:
        cells = [entry for row in self.rows for entry in row if isinstance(entry, Cell)]
        object.__setattr__(self, "sources", sources_of(cells) if cells else [])

    @property
    def legend(self) -> str:
        """What a cell's figures are."""
        if not self.sources:
            return ""
        headings = " | ".join(source.heading for source in self.sources)
        return f"Each cell: {headings}." if len(self.sources) > 1 else ""


def _parts(table: Table, cell: Cell, strong: Callable[[str], str]) -> list[str]:
    """A cell's figures, the predicted one marked where it stands beside others."""
    return [
        strong(cell.text(source))
        if source is PREDICTED and len(table.sources) > 1 and cell.figure(source) is not None
        else cell.text(source)
        for source in table.sources
    ]


def _html_text(text: str) -> str:
    text = escape(text, quote=False)
    if " " not in text:
        text = text.replace("/", "/<wbr>")  # a row's name may break between its axes
    head, *small = text.split("\n")
    return head + "".join(f"<br><small>{line}</small>" for line in small)


def _html_entry(table: Table, entry: Cell | str) -> str:
    if isinstance(entry, Cell):
        return " | ".join(_parts(table, entry, lambda text: f"<b>{text}</b>"))
    return _html_text(entry)


def _html_class(table: Table, column: int) -> str:
    return ' class="text"' if column in table.text_columns else ""


def html_table(table: Table) -> str:
    """The bare <table>, for a page that has its own style."""
    lines = [_WIDE if len(table.headings) > _MANY else "<table>", "<thead>", "<tr>"]
    for i, heading in enumerate(table.headings):
        lines.append(f'<th scope="col"{_html_class(table, i)}>{_html_text(heading)}</th>')
    lines += ["</tr>", "</thead>", "<tbody>"]
    for head, *entries in table.rows:
        row = f'<tr><th scope="row"{_html_class(table, 0)}>{_html_entry(table, head)}</th>'
        for i, entry in enumerate(entries, 1):
            row += f"<td{_html_class(table, i)}>{_html_entry(table, entry)}</td>"
        lines.append(row + "</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def html_caption(table: Table) -> str:
    sentences = [escape(text) for text in (table.legend, table.caption.text) if text]
    if table.caption.command:
        sentences.append(f"<code>{escape(table.caption.command)}</code>")
    return "\n".join(sentences)


def html_fragment(table: Table) -> str:
    return (
        f'<figure>\n<div style="overflow-x:auto">\n{html_table(table)}\n</div>\n'
        f"<figcaption>{html_caption(table)}</figcaption>\n</figure>\n"
    )


def _markdown_entry(table: Table, entry: Cell | str) -> str:
    if isinstance(entry, Cell):
        return " \\| ".join(_parts(table, entry, lambda text: f"**{text}**"))
    return entry.replace("|", "\\|").replace("\n", "<br>")


def _markdown_row(entries: list[str]) -> str:
    return "| " + " | ".join(entries) + " |"


def markdown_fragment(table: Table) -> str:
    lines = [
        _markdown_row([_markdown_entry(table, heading) for heading in table.headings]),
        _markdown_row(
            ["---" if i in {0, *table.text_columns} else "---:" for i in range(len(table.headings))]
        ),
    ]
    lines += [_markdown_row([_markdown_entry(table, entry) for entry in row]) for row in table.rows]
    sentences = [text for text in (table.legend, table.caption.text) if text]
    if table.caption.command:
        sentences.append(f"`{table.caption.command}`")
    return "\n".join(lines) + "\n\n" + " ".join(sentences) + "\n"
