"""make overview: README's figure, what every runtime was predicted and measured to take of a card.

Asks build/fit about the committed cases, and writes overview.png into --out, which is
plots/pictures/overview.png once it is committed; prints what the picture says: README's alt text.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from programs import ROOT, Arguments, file_or_folder, program, writing
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture

from overview.picture import draw
from overview.points import every_runtime

_COLORS = 64  # of a palette: a third of the bytes, and nothing that can be seen


def write(drawn: Picture, out: Path) -> None:
    """Light, and with what it says in it, so that a test can tell whether it is today's."""
    drawn.write(out)
    file = out / f"{drawn.key}.png"
    said = PngInfo()
    said.add_text("Description", drawn.alt)
    with Image.open(file) as image:
        light = image.convert("RGB").quantize(_COLORS, dither=Image.Dither.NONE)
    light.save(file, optimize=True, pnginfo=said)


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
