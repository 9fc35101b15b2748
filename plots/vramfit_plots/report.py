"""The whole report, written into one folder."""

import pkgutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from vramfit_plots import captions, topics, words
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import Picture
from vramfit_plots.files import AbsentError, writing
from vramfit_plots.history.page import write_history
from vramfit_plots.history.runs import History
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables import Table, write_fragments
from vramfit_plots.templates import environment
from vramfit_plots.topics import wrong

# Of the article's topics the first table is its own, the second the same by source.
_IN_ONE = "article"
_ARTICLE = ("inference", "waterfall", "oom_cliff", "multi_gpu")


def chapters() -> dict[str, ModuleType]:
    """Topics by name: the article's, then those that words.json names, in its order. A topic's
    build(), where it has one, makes its tables, its draw(), where it has one, the picture of its
    name."""
    there = {module.name for module in pkgutil.iter_modules(topics.__path__)}
    further = [key for key in words.in_order() if key in there]
    names = dict.fromkeys((_IN_ONE, *_ARTICLE, *further))
    every = {name: import_module(f"vramfit_plots.topics.{name}") for name in names}
    return {
        name: topic
        for name, topic in every.items()
        if hasattr(topic, "build") or hasattr(topic, "draw")
    }


@dataclass(frozen=True)
class Section:
    """Of the page: a topic's."""

    tables: list[Table]
    picture: Picture | None
    not_drawn: str = ""  # why there is no picture; "" where none is meant

    @property
    def large(self) -> bool:
        """Whether its picture is as wide as the page."""
        return self.picture is not None and self.picture.large

    @property
    def anchor(self) -> str:
        return self.tables[0].key


def _section(topic: ModuleType, inputs: Inputs) -> Section:
    built: list[Table] = []
    with suppress(AbsentError):
        tables = topic.build(inputs) if hasattr(topic, "build") else []
        built = [table for table in tables if table.rows]
    if not hasattr(topic, "draw"):
        return Section(built, None)
    with style.styled():
        try:
            return Section(built, topic.draw(inputs))
        except AbsentError as missing:
            return Section(built, None, f"Not drawn: this run does not hold {missing}.")


def _write_pictures(sections: list[Section], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # A picture that this run does not have must not be an older run's.
    for name in chapters():
        for suffix in (".png", ".svg"):
            (folder / f"{name}{suffix}").unlink(missing_ok=True)
    for section in sections:
        if section.picture:
            section.picture.write(folder)


@dataclass(frozen=True)
class _Page:
    """What both templates are filled from."""

    in_one: Section
    article: list[Section]
    further: list[Section]
    contradictions: wrong.Contradictions
    summary: str
    provenance: dict[str, str]
    commands: list[str]
    context: dict[str, str]

    @property
    def sections(self) -> list[Section]:
        return [self.in_one, *self.article, *self.further]

    @property
    def details(self) -> list[Table]:
        """What goes further about the article's own tables."""
        return [table for section in self.article for table in section.tables[2:]]

    @property
    def tables(self) -> list[Table]:
        found = [table for section in self.sections for table in section.tables]
        return [*found, wrong.table(self.contradictions)]

    @property
    def rows_commands(self) -> dict[str, list[str]]:
        """The tables that each command makes the rows of."""
        found: dict[str, list[str]] = {}
        for table in self.tables:
            if table.command:
                found.setdefault(table.command, []).append(table.key)
        return found


def _page(inputs: Inputs, out: Path) -> _Page:
    sections = {name: _section(topic, inputs) for name, topic in chapters().items()}
    return _Page(
        in_one=sections.pop(_IN_ONE),
        article=[sections.pop(name) for name in _ARTICLE],
        further=[section for section in sections.values() if section.tables],
        contradictions=wrong.contradictions(inputs),
        summary=captions.summary(inputs),
        provenance=captions.provenance(inputs),
        commands=captions.commands(inputs, out),
        context=captions.context(inputs),
    )


@contextmanager
def _writing_history(history: History | None, out: Path) -> Iterator[None]:
    """Meanwhile, in a process of its own: it has half of all that is drawn."""
    if history is None:
        write_history(None, out)
        yield
        return
    with ProcessPoolExecutor(1) as process:
        written = process.submit(write_history, history, out)
        yield
        written.result()


def write_report(inputs: Inputs, out: Path) -> Path:
    """Everything into the folder `out`; the page to open comes back."""
    with writing():
        out.mkdir(parents=True, exist_ok=True)  # first: the page takes long
    with _writing_history(inputs.history, out):
        page, templates = _page(inputs, out), environment()
        with writing():
            _write_pictures(page.sections, out / "figures")
            write_fragments(page.tables, out / "fragments")
            for name in ("tables.md", "tables.html"):
                text = templates.get_template(f"{name}.j2").render(page=page)
                (out / name).write_text(text, encoding="utf-8")
    return out / "tables.html"
