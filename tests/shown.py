"""Commands that a page shows, and what it says they print."""

import re
from pathlib import Path

_COMMAND = re.compile(
    r"^    \$ vramfit (?P<arguments>.*)\n(?P<output>(?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)",
    re.MULTILINE,
)
_THE_REST = "…"


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """What follows `$ vramfit`, and the lines below it, "…" where some are left out."""
    return [
        (match["arguments"], [line[4:] for line in match["output"].splitlines()])
        for match in _COMMAND.finditer(page.read_text())
    ]


def _parts(shown: list[str]) -> list[list[str]]:
    """What stands between the marks for what is left out."""
    lists: list[list[str]] = [[]]
    for line in shown:
        if line == _THE_REST:
            lists.append([])
        else:
            lists[-1].append(line)
    return lists


def assert_shows(printed: list[str], shown: list[str]) -> None:
    """Each part, in its order; the first at the beginning, the last at the end."""
    first, *others = _parts(shown)
    assert printed[: len(first)] == first
    rest = printed[len(first) :]
    if not others:
        assert rest == []
    for part in others:
        starts = [at for at in range(len(rest) + 1) if rest[at : at + len(part)] == part]
        assert starts, "\n".join(["is not printed:", *part])
        rest = rest[starts[0] + len(part) :]
