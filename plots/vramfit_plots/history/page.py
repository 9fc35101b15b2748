"""The history as a page of its own, beside the report: runs, what changed between them, and
pictures."""

from pathlib import Path

from vramfit_plots.figures import style
from vramfit_plots.files import writing
from vramfit_plots.history import figures
from vramfit_plots.history.changes import FAILED, OOM, Change, Transition, transitions
from vramfit_plots.history.runs import History, day, fact, named, when
from vramfit_plots.tables import Column, Table, listing, write_fragments
from vramfit_plots.templates import environment
from vramfit_plots.units import in_words, number

PICTURES = (*(name for name, *_ in figures.MOVING), "unattributed", "speed")


_COMMAND = "make measure"
_MANY = 40  # rows: more are folded up
_ARROW = "\N{RIGHTWARDS ARROW}"
_AROUND = {"gpu": "card", "driver": "driver", "cuda": "CUDA", "cublas": "cuBLAS", "cudnn": "cuDNN"}


def _moved(transition: Transition | None) -> str | None:
    """How many of those that both runs have, and in small type what only one has."""
    if transition is None:
        return None
    counts = {
        "now out of memory": transition.lost(OOM),
        "now failed": transition.lost(FAILED),
        "new": transition.new,
        "gone": transition.gone,
    }
    more = ", ".join(f"{number(found)} {word}" for word, found in counts.items() if found)
    return transition.in_words + (f"\n{more}" if more else "")


def _runs(history: History, transitions: list[Transition]) -> Table:
    since = {transition.after: transition for transition in transitions}
    around = {mark.position: f"{mark.letter}: {mark.text}" for mark in history.marks}
    columns = (
        Column("run", lambda i: i + 1),
        Column("date", lambda i: day(history.runs[i])),
        Column("commit", lambda i: fact(history.runs[i], "commit")),
        *(
            Column(word, lambda i, key=key: fact(history.runs[i], key), text=key == "gpu")
            for key, word in _AROUND.items()
        ),
        Column("rows", lambda i: len(history.runs[i].rows), number),
        Column("moved", lambda i: _moved(since.get(i))),
        Column("what changed around them", lambda i: around.get(i, ""), text=True),
    )
    return listing("history", columns, range(len(history)), _COMMAND)


def _changes(history: History, transitions: list[Transition]) -> Table:
    """A transition without changes has a line too."""
    newest_first = transitions[::-1]
    lines = [(one, change) for one in newest_first for change in one.changes or [None]]

    def between(line: tuple[Transition, Change | None]) -> str:
        before, after = line[0].before, line[0].after
        old, new = (named(history.runs[at]) for at in (before, after))
        return f"{before + 1} {_ARROW} {after + 1}\n{old} {_ARROW} {new}"

    def of(heading: str, entry: str, *, text: bool = False) -> Column:
        return Column(heading, lambda line: line[1] and getattr(line[1], entry), text=text)

    columns = (
        Column("runs", between),
        Column("row", lambda ln: ln[1].row if ln[1] else f"{ln[0].in_words} moved", text=True),
        of("figure", "figure", text=True),
        of("before", "was"),
        of("after", "now"),
        of("difference", "difference"),
    )
    return listing("history_changes", columns, lines, _COMMAND, long=len(lines) > _MANY)


def tables(history: History, transitions: list[Transition]) -> list[Table]:
    return [_runs(history, transitions), _changes(history, transitions)]


def _title(history: History, every: list[Transition]) -> str:
    """The finding: what the newest run of all took differently."""
    count = number(len(history))
    if not every:
        return f"GPU memory over time: {count} run" + ("s" if len(history) > 1 else "")
    newest = max(every, key=lambda transition: when(history.runs[transition.after]))
    return f"GPU memory over {count} runs: {newest.in_words} moved in the newest"


def _summary(history: History) -> str:
    days = [day(run) for run in sorted(history.runs, key=when)]
    span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"What the kept runs of vramfit's own step took on {in_words(history.cards)}, {span}."


def _forget(out: Path) -> None:
    """A picture that these runs do not have must not be an older report's."""
    (out / "history.html").unlink(missing_ok=True)
    for name in PICTURES:
        for suffix in (".png", ".svg"):
            (out / "figures" / f"history_{name}{suffix}").unlink(missing_ok=True)


@writing()
def write_history(history: History | None, out: Path) -> None:
    """Page, fragments and pictures, where the report's lie."""
    _forget(out)
    if history is None:
        return
    every = transitions(history)
    with style.styled():
        pictures = list(figures.pictures(history, every))
    page = {
        "title": _title(history, every),
        "summary": _summary(history),
        "tables": [table for table in tables(history, every) if table.rows],
        "pictures": pictures,
    }
    for picture in pictures:
        picture.write(out / "figures")
    write_fragments(page["tables"], out / "fragments")
    text = environment().get_template("history.html.j2").render(page=page)
    (out / "history.html").write_text(text, encoding="utf-8")
