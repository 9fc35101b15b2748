"""Where the article is wrong, as a table of its own."""

from vramfit_plots.captions import Caption
from vramfit_plots.contradictions import Contradictions
from vramfit_plots.tables.table import Table


def table(contradictions: Contradictions) -> Table:
    unknown = ", ".join(contradictions.unknown)
    return Table(
        key="wrong",
        title="Where the article is wrong",
        headings=["what", "how"],
        rows=[[item.title, item.text] for item in contradictions.found],
        caption=Caption(
            f"This run holds too few rows to tell about: {unknown}." if unknown else ""
        ),
        text_columns=frozenset({0, 1}),
    )
