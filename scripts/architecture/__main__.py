"""make architecture: the picture of docs/architecture.md, read off folders, includes and CMake.

Writes architecture.png into --out, which is plots/pictures/architecture.png once it is committed,
and prints what it says: the page's alt text.
"""

import argparse
import sys
from collections.abc import Sequence

from overview.light import write
from programs import ROOT, Arguments, file_or_folder, program, writing
from vramfit_plots.figures import style

from architecture.picture import draw
from architecture.tree import rooms


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(prog="make architecture", description=__doc__)
    out = ROOT / "build" / "architecture"
    parser.add_argument("--out", type=file_or_folder, default=out, help="a folder")
    return parser.parse_args(argv)


@program("architecture")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    with writing(), style.styled():
        drawn = draw(rooms(ROOT))
        write(drawn, given.out)
    print(drawn.alt)
    return 0


if __name__ == "__main__":
    sys.exit(main())
