"""python -m vramfit_plots.accuracy: predictions of PyTorch held against measurements."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vramfit_plots import publish
from vramfit_plots.accuracy import figure, tables
from vramfit_plots.accuracy.comparison import compare
from vramfit_plots.errors import BadInputError
from vramfit_plots.figures import style
from vramfit_plots.files import data_dir
from vramfit_plots.tables.text import text_table

_EXIT_BAD_INPUT = 2


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m vramfit_plots.accuracy", description=__doc__.split(": ", 1)[1]
    )
    parser.add_argument("--fit", type=Path, default=Path("build/fit"), help="(%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("build/accuracy"), help="a folder (%(default)s)"
    )
    parser.add_argument(
        "--data", type=Path, default=data_dir(), help="the project's data folder (%(default)s)"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments(argv)
    try:
        comparison = compare(arguments.fit, arguments.data)
    except BadInputError as error:
        print(f"accuracy: error: {error}", file=sys.stderr)
        return _EXIT_BAD_INPUT
    built = tables.build(comparison)
    publish.write_fragments(built, arguments.out)
    with style.styled():
        picture = figure.draw(comparison)
        publish.write_picture(picture, publish.signed_svg(picture), arguments.out)
    # What is said in all stands last, where a terminal shows it.
    print("\n".join(text_table(table) for table in reversed(built)))
    print(f"Tables and picture lie in {arguments.out}: {arguments.out / picture.key}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
