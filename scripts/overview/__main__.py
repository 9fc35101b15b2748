"""make overview: README's figure, what every runtime was predicted and measured to take of a card.

Asks build/fit about the committed cases, and writes overview.png into --out, which is
plots/pictures/overview.png once it is committed; prints what the picture says: README's alt text.
"""

import argparse
import sys
from collections.abc import Sequence

from programs import ROOT, Arguments, file_or_folder, program, writing
from vramfit_plots.figures import style

from overview.light import write
from overview.picture import draw
from overview.points import every_runtime


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(prog="make overview", description=__doc__)
    out = ROOT / "build" / "overview"
    parser.add_argument("--out", type=file_or_folder, default=out, help="a folder")
    return parser.parse_args(argv)


@program("overview")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    with writing(), style.styled():
        drawn = draw(every_runtime())
        write(drawn, given.out)
    print(drawn.alt)
    return 0


if __name__ == "__main__":
    sys.exit(main())
