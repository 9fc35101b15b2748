"""What the article says outside its tables, beside what answers it."""

from vramfit_plots.captions import Caption
from vramfit_plots.claims import answer
from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import COUNTED
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING


def build(inputs: Inputs) -> list[Table]:
    answered = [(claim["text"], answer(inputs, claim)) for claim in inputs.article.claims]
    sources = [s for s in COUNTED if any(s in one.figures for _, one in answered)]
    return [
        Table(
            key="claims",
            title="The article's other claims",
            headings=["the article says", "verdict", *(s.heading for s in sources)],
            rows=[
                [text, one.verdict, *(one.figures.get(s, MISSING) for s in sources)]
                for text, one in answered
            ],
            caption=Caption(
                "Every claim of the article outside its tables, with what answers it. A claim "
                "holds where the figures are within 1 % of it, unless the verdict says how near."
            ),
            text_columns=frozenset({0, 1}),
        )
    ]
