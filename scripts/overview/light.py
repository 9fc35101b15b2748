"""A picture's bitmap for README and docs."""

from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from vramfit_plots.figures.picture import Picture

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
