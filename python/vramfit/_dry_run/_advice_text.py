"""What is printed of advice, beneath the answer."""

from __future__ import annotations

import textwrap
from typing import Any

Json = dict[str, Any]

_COLUMNS = 100
_COLUMN = 20  # where changes begin


def text(advice: Json, verdict: str) -> str:
    """At most 100 columns."""
    if verdict == "FITS":
        return "It fits as it is: nothing has to be changed.\n"
    ways = advice["ways"]
    fits = [way for way in ways if way["verdict"] == "FITS"]
    title = ""
    if verdict == "OOM" and advice["total_as_it_is"] is not None:
        title = f"As it is it takes {_gb(advice['total_as_it_is'])} GB. "
    if fits:
        surely = "surely fit" if verdict == "TIGHT" else "fit"
        title += f"What makes it {surely}, the cheapest first; each was tried on the script"
    else:
        title += _least(ways)
    lines = _wrapped(title, 0)
    enough = [way for way in ways if way["verdict"] != "OOM"]
    if enough:
        lines.append(f"  {'total, GB':>9}         change")
    for way in enough:
        lines += _row(way)
    for way in ways[len(enough) :]:
        lines += _wrapped(f"{way['label']}: not enough, {_gb(way['total'])} GB", 2)
    for left in advice["left_out"]:
        lines += _wrapped(f"{left['label']}: {left['why']}", 2)
    return "\n".join(lines) + "\n"


def _least(ways: list[Json]) -> str:
    if not ways:
        return "Nothing that was tried makes it fit, or take less"
    least = min(ways, key=lambda way: way["total"])
    return (
        f"Nothing that was tried makes it surely fit: with {least['label']} it still takes "
        f"{_gb(least['total'])} GB"
    )


def _row(way: Json) -> list[str]:
    costs = f" ({'; '.join(way['costs'])})" if way["costs"] else ""
    first, *others = _wrapped(way["label"] + costs, _COLUMN)
    head = f"  {_gb(way['total']):>9}  {way['verdict']:<5}  "
    code = [line for each in way["code"] for line in _wrapped(each, _COLUMN + 2)]
    return [head + first[_COLUMN:], *others, *code]


def _wrapped(line: str, indent: int) -> list[str]:
    further = indent if indent == _COLUMN else indent + 2
    return textwrap.wrap(
        line,
        _COLUMNS,
        initial_indent=" " * indent,
        subsequent_indent=" " * further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _gb(size: int) -> str:
    return f"{size / 1e9:.2f}"
