"""python -m vramfit_plots.advice: the tables of docs/advice.md, to be pasted."""

import sys
from collections.abc import Sequence
from pathlib import Path

from vramfit_plots.accuracy.cases import load_cases
from vramfit_plots.advice import decisions, rules, slowdowns
from vramfit_plots.command_line import Arguments, program, say
from vramfit_plots.files import data_dir
from vramfit_plots.tables import Table, markdown_fragment


def tables(fit: Path, data: Path) -> list[Table]:
    cases = load_cases(data / "reference").askable
    return [decisions.table(fit), slowdowns.table(data), rules.table(cases)]


@program("advice")
def main(argv: Sequence[str] | None = None) -> int:
    parser = Arguments(prog="python -m vramfit_plots.advice", description=__doc__.split(": ", 1)[1])
    parser.path("--fit", Path("build/fit"), "")
    for table in tables(parser.parse_args(argv).fit, data_dir()):
        say(markdown_fragment(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
