"""Rows of the report's tables, by what they are called."""


def heads(table) -> list[str]:
    return [row[0].split("\n")[0] for row in table.rows]


def by_head(table, head) -> dict[str, str]:
    """A row's entries by heading."""
    row = next(row for row in table.rows if row[0].replace("\n", " ") == head)
    return dict(zip(table.headings, row, strict=True))
