"""Runs and what changed between them, as tables."""

from vramfit_plots.history.changes import FAILED, OOM, Change, Step
from vramfit_plots.history.runs import History, day, fact, named
from vramfit_plots.tables import Column, Table, listing
from vramfit_plots.units import number

_COMMAND = "make measure"
_MANY = 40  # rows: more are folded up
_ARROW = "\N{RIGHTWARDS ARROW}"
_AROUND = {"gpu": "card", "driver": "driver", "cuda": "CUDA", "cublas": "cuBLAS", "cudnn": "cuDNN"}


def _moved(step: Step | None) -> str | None:
    """How many of those that both runs have, and in small type what only one has."""
    if step is None:
        return None
    counts = {
        "now out of memory": step.lost(OOM),
        "now failed": step.lost(FAILED),
        "new": step.new,
        "gone": step.gone,
    }
    more = ", ".join(f"{number(found)} {word}" for word, found in counts.items() if found)
    return step.in_words + (f"\n{more}" if more else "")


def _runs(history: History, steps: list[Step]) -> Table:
    since = {step.after: step for step in steps}
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


def _changes(history: History, steps: list[Step]) -> Table:
    """A step without changes has a line too."""
    lines = [(step, change) for step in reversed(steps) for change in step.changes or [None]]

    def between(line: tuple[Step, Change | None]) -> str:
        step, _ = line
        old, new = history.runs[step.before], history.runs[step.after]
        return f"{step.before + 1} {_ARROW} {step.after + 1}\n{named(old)} {_ARROW} {named(new)}"

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


def build(history: History, steps: list[Step]) -> list[Table]:
    built = [_runs(history, steps), _changes(history, steps)]
    return [table for table in built if table.rows]
