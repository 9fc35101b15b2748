"""What a picture's colours are on a dark screen.

An SVG follows the screen by rules of its own, in a page's <img> too; its colours as drawn stay what
print and programs without stylesheets show."""

from vramfit_plots.figures import style

# The page's own, as report.css has them.
_BACK, _INK, _FAINT, _GRID = "#16181c", "#e4e4e4", "#a8a8a8", "#3a3d42"
# By the colour as drawn. A colour that is not here suits both.
_ON_DARK = {
    "#ffffff": _BACK,
    style.INK: _INK,
    style.FAINT: _FAINT,
    style.GRID: _GRID,
    "#666666": _FAINT,
    "#6e6e6e": _FAINT,
    "#8a8a8a": _FAINT,
    "#7f7f7f": "#a0a0a0",
    "#e6e6e6": "#33373d",
    "#f2f2f2": "#2a2d32",
    "#0072b2": "#3b9fe0",
    "#56b4e9": "#b0deff",
    style.WORDS_OF["PyTorch"]: style.LINE_OF["PyTorch"].lower(),
    style.RIGHT: "#3fc79a",
    style.WRONG: "#ff9a66",
}
_AT = '<style type="text/css">'  # matplotlib's, which every SVG of it has


def _rule(of: str, light: str, dark: str) -> str:
    return f'[style*="{of}: {light}"],[{of}="{light}"]{{{of}:{dark}!important}}'


def follows_the_screen(svg: str) -> str:
    rules = "".join(
        _rule(of, light, dark) for light, dark in _ON_DARK.items() for of in ("fill", "stroke")
    )
    return svg.replace(_AT, f"{_AT}@media screen and (prefers-color-scheme: dark){{{rules}}}", 1)
