"""The history as a page of its own, beside the report."""

from pathlib import Path

from vramfit_plots.figures import style
from vramfit_plots.files import writing
from vramfit_plots.history import figures, tables
from vramfit_plots.history.changes import Step, steps
from vramfit_plots.history.runs import History, day, when
from vramfit_plots.tables import write_fragments
from vramfit_plots.templates import environment
from vramfit_plots.units import in_words, number

PICTURES = ("training", "inference", "oom_cliff", "overhead", "unattributed", "speed")


def _title(history: History, every: list[Step]) -> str:
    """The finding: what the newest run of all took differently."""
    count = number(len(history))
    if not every:
        return f"GPU memory over time: {count} run" + ("s" if len(history) > 1 else "")
    newest = max(every, key=lambda step: when(history.runs[step.after]))
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
    every = steps(history)
    with style.styled():
        pictures = list(figures.pictures(history, every))
    page = {
        "title": _title(history, every),
        "summary": _summary(history),
        "tables": tables.build(history, every),
        "pictures": pictures,
    }
    for picture in pictures:
        picture.write(out / "figures")
    write_fragments(page["tables"], out / "fragments")
    text = environment().get_template("history.html.j2").render(page=page)
    (out / "history.html").write_text(text, encoding="utf-8")
