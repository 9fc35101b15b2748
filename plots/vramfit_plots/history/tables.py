"""Runs and what changed between them, as tables."""

from vramfit_plots.captions import Caption
from vramfit_plots.history.changes import FAILED, OOM, Step
from vramfit_plots.history.runs import History, day, fact, named
from vramfit_plots.tables.table import Table
from vramfit_plots.units import MISSING, number

_COMMAND = "make measure"
_MANY = 40  # rows: more are folded up
_ARROW = "\N{RIGHTWARDS ARROW}"


def _moved(step: Step | None) -> str:
    """How many of those that both runs have, and in small type what only one has."""
    if step is None:
        return MISSING
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
    rows = []
    for i, run in enumerate(history.runs):
        versions = [fact(run, key) for key in ("gpu", "driver", "cuda", "cublas", "cudnn")]
        rows.append(
            [
                f"{i + 1}",
                day(run),
                fact(run, "commit"),
                *versions,
                number(len(run.rows)),
                _moved(since.get(i)),
                around.get(i, ""),
            ]
        )
    headings = ["run", "date", "commit", "card", "driver", "CUDA", "cuBLAS", "cuDNN", "rows"]
    return Table(
        key="history",
        title="Every kept run",
        headings=[*headings, "moved", "what changed around them"],
        rows=rows,
        caption=Caption(
            "The runs of data/runs, one card's after another's, each by date. Moved: of the "
            "rows with a figure of memory those of which it is other, to the byte, than in the "
            "card's run before, or that now fail or did. Of repetitions the highest counts, and "
            "the lowest largest batch.",
            _COMMAND,
        ),
        text_columns=frozenset({3, 10}),
    )


def _between(history: History, step: Step) -> str:
    old, new = history.runs[step.before], history.runs[step.after]
    return f"{step.before + 1} {_ARROW} {step.after + 1}\n{named(old)} {_ARROW} {named(new)}"


def _of_step(history: History, step: Step) -> list[list[str]]:
    between = _between(history, step)
    if not step.changes:
        return [[between, f"{step.in_words} moved", *[MISSING] * 4]]
    return [
        [
            between,
            change.row,
            change.figure,
            change.shown(change.old),
            change.shown(change.new),
            change.difference,
        ]
        for change in step.changes
    ]


def _changes(history: History, steps: list[Step]) -> Table:
    rows = [row for step in reversed(steps) for row in _of_step(history, step)]
    return Table(
        key="history_changes",
        title="What moved from one run to the next",
        headings=["runs", "row", "figure", "before", "after", "difference"],
        rows=rows,
        caption=Caption(
            "The newest first; every difference counts. Times are in the picture of speeds alone: "
            "no two runs have the same. build/compare says which differences are beyond what "
            "repeated runs differ by, and names the allocations behind them.",
            _COMMAND,
        ),
        text_columns=frozenset({1, 2}),
        long=len(rows) > _MANY,
    )


def build(history: History, steps: list[Step]) -> list[Table]:
    built = [_runs(history, steps), _changes(history, steps)]
    return [table for table in built if table.rows]
