"""A table for a terminal."""

from vramfit_plots.tables.table import Table


def _one_line(entry: str) -> str:
    return entry.replace("\n", ", ")


def text_table(table: Table) -> str:
    """Columns are as wide as they need; the last may be long."""
    lines = [[_one_line(entry) for entry in line] for line in [table.headings, *table.rows]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = {0, *table.text_columns}
    text = [table.title, ""]
    for line in lines:
        entries = [
            entry.ljust(width) if i in left else entry.rjust(width)
            for i, (entry, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  " + "  ".join(entries).rstrip())
    return "\n".join([*text, "", f"  {table.caption.note}", ""])
