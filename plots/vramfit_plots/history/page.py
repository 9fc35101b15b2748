"""The history on pages of its own, beside the report's: runs, what moved between them, pictures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from vramfit_plots import words
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.files import writing
from vramfit_plots.history import figures
from vramfit_plots.history.causes import MATTERS, Cause, causes, mattering
from vramfit_plots.history.changes import FAILED, OOM, Transition, transitions
from vramfit_plots.history.runs import History, day, fact, named, when
from vramfit_plots.pages import Page, long_page, write_pages
from vramfit_plots.run import Run
from vramfit_plots.tables import Column, Table, listing, write_fragments
from vramfit_plots.units import in_words, number, share

PICTURES = (*(name for name, *_ in figures.MOVING), "unattributed", "speed")


_COMMAND = "make measure"
_ARROW = "\N{RIGHTWARDS ARROW}"
_AROUND = {"driver": "driver", "cuda": "CUDA", "cublas": "cuBLAS", "cudnn": "cuDNN"}


def _moved(transition: Transition | None) -> str | None:
    """How many of those that both runs have, and in small type what else there is."""
    if transition is None:
        return None
    more = mattering(transition)
    counts = {
        f"by {share(MATTERS)} at most": len(transition.moved()) - more,
        "now out of memory": transition.lost(OOM),
        "now failed": transition.lost(FAILED),
        "new": transition.new,
        "gone": transition.gone,
    }
    said = ", ".join(f"{number(found)} {word}" for word, found in counts.items() if found)
    return _of(more, transition) + (f"\n{said}" if said else "")


def _of(rows: int, transition: Transition) -> str:
    common = len(transition.common)
    return f"{number(rows) if rows else 'none'} of {number(common)} row{'s' * (common != 1)}"


def _around(run: Run) -> str:
    return ", ".join(f"{word} {fact(run, key)}" for key, word in _AROUND.items())


def _runs(history: History, transitions: list[Transition]) -> Table:
    since = {transition.after: transition for transition in transitions}
    marks = {mark.position: f"{mark.letter}: {mark.text}" for mark in history.marks}
    columns = (
        Column("run", lambda i: i + 1),
        Column("date, commit", lambda i: named(history.runs[i]).replace(" ", "\n", 1), text=True),
        Column("card", lambda i: fact(history.runs[i], "gpu"), text=True),
        Column("with", lambda i: _around(history.runs[i]), text=True),
        Column("what is new there", lambda i: marks.get(i, ""), text=True),
        Column("rows", lambda i: len(history.runs[i].rows), number),
        Column(f"moved by more than {share(MATTERS)}", lambda i: _moved(since.get(i))),
    )
    return listing("history", columns, range(len(history)), _COMMAND)


def _causes(history: History, transitions: list[Transition]) -> Table:
    """The newest transition first; one without changes has a line too."""
    lines = [(one, cause) for one in transitions[::-1] for cause in [*causes(one)] or [None]]

    def of(heading: str, entry: Callable[[Cause], Any], *, text: bool = False) -> Column:
        return Column(heading, lambda line: line[1] and entry(line[1]), text=text)

    columns = (
        Column("runs", lambda line: _between(history, line[0])),
        Column("what moved", lambda line: line[1].what if line[1] else "nothing", text=True),
        of("rows", lambda cause: number(len(cause.changes))),
        of("by", lambda cause: cause.by),
        of("at most, of the figure", lambda cause: cause.share),
        of("most in", lambda cause: cause.row, text=True),
    )
    return listing("history_causes", columns, lines, _COMMAND, little=share(MATTERS))


def _between(history: History, one: Transition) -> str:
    old, new = (named(history.runs[at]) for at in (one.before, one.after))
    return f"{one.before + 1} {_ARROW} {one.after + 1}\n{old} {_ARROW} {new}"


def _changes(history: History, transitions: list[Transition]) -> Table:
    """Row by row."""
    lines = [(one, change) for one in transitions[::-1] for change in one.changes]
    columns = (
        Column("runs", lambda line: f"{line[0].before + 1} {_ARROW} {line[0].after + 1}"),
        *(
            Column(heading, lambda line, entry=entry: getattr(line[1], entry), text=text)
            for heading, entry, text in (
                ("row", "row", True),
                ("figure", "figure", True),
                ("before", "was", False),
                ("after", "now", False),
                ("difference", "difference", False),
            )
        ),
    )
    return listing("history_changes", columns, lines, _COMMAND, long=True)


def tables(history: History, transitions: list[Transition]) -> list[Table]:
    every = [make(history, transitions) for make in (_runs, _causes, _changes)]
    return [table for table in every if table.rows]


def _title(history: History, every: list[Transition]) -> str:
    """The finding: what the newest run of all took differently."""
    count = number(len(history))
    if not every:
        return f"GPU memory over time: {count} run" + ("s" if len(history) > 1 else "")
    newest = max(every, key=lambda transition: when(history.runs[transition.after]))
    moved = f"{_of(mattering(newest), newest)} moved by more than {share(MATTERS)}"
    return f"GPU memory over {count} runs: {moved} in the newest"


def _summary(history: History) -> str:
    days = [day(run) for run in sorted(history.runs, key=when)]
    span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"What the kept runs of vramfit's own step took on {in_words(history.cards)}, {span}."


def entry(history: History) -> Page:
    """As the report's index lists it."""
    title, said = words.note("history", "title"), _title(history, transitions(history))
    return Page("history", title, words.group("history"), said)


def _forget(out: Path) -> None:
    """A picture that these runs do not have must not be an older report's."""
    for name in PICTURES:
        for suffix in (".png", ".svg"):
            (out / "figures" / f"history_{name}{suffix}").unlink(missing_ok=True)


def _pages(history: History, every: list[Transition], pictures: list[Picture]) -> list[Page]:
    """The runs and what moved, then row by row each table and picture by itself."""
    built = tables(history, every)
    first = Page(
        "history",
        _title(history, every),
        template="history",
        about={"summary": _summary(history), "tables": built, "pictures": pictures},
    )
    drawn = [
        Page(one.key, one.title, template="picture", about={"picture": one, "above": first})
        for one in pictures
    ]
    return [first, *(long_page(table, first) for table in built if table.long), *drawn]


@writing()
def write_history(history: History | None, out: Path) -> None:
    """Pages, fragments and pictures, where the report's lie."""
    _forget(out)
    if history is None:
        return
    every = transitions(history)
    with style.styled():
        pictures = list(figures.pictures(history, every))
    for picture in pictures:
        picture.write(out / "figures")
    write_fragments(tables(history, every), out / "fragments")
    write_pages(_pages(history, every, pictures), out)
