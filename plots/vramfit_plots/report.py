"""The whole report, written into one folder."""

import pkgutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

from vramfit_plots import captions, topics, words
from vramfit_plots.cells import NEAR
from vramfit_plots.figures import style
from vramfit_plots.figures.picture import NARROW, Picture
from vramfit_plots.files import AbsentError, writing
from vramfit_plots.history.page import entry, write_history
from vramfit_plots.history.runs import History
from vramfit_plots.inputs import Inputs
from vramfit_plots.pages import Page, Section, forget, topic_pages, write_pages
from vramfit_plots.sources import ARTICLE, OURS, THEIRS
from vramfit_plots.tables import Table, write_fragments
from vramfit_plots.topics import wrong
from vramfit_plots.units import number, share

# Of the article's topics the first table is its own, the second the same by source.
_IN_ONE = "article"
_TITLE = "GPU memory: the article's tables, measured and predicted"
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


def _section(topic: ModuleType, inputs: Inputs) -> Section:
    built: list[Table] = []
    with suppress(AbsentError):
        tables = topic.build(inputs) if hasattr(topic, "build") else []
        built = [table for table in tables if table.rows]
    if not hasattr(topic, "draw"):
        return Section(built, None)
    with style.styled():
        try:
            picture = topic.draw(inputs)
            with style.for_phones():
                narrow = topic.draw(inputs).figure
        except AbsentError as missing:
            return Section(built, None, f"Not drawn: this run does not hold {missing}.")
    return Section(built, replace(picture, narrow=narrow))


def _write_pictures(pictures: list[Picture], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # A picture that this run does not have must not be an older run's.
    for name in chapters():
        for path in (f"{name}.png", f"{name}.svg", f"{NARROW}/{name}.svg"):
            (folder / path).unlink(missing_ok=True)
    for picture in pictures:
        picture.write(folder)


@dataclass(frozen=True)
class _Part:
    """Of the index: a table of the article as it prints it, and as others have it."""

    page: Page  # with what goes further
    title: str
    tables: list[Table]
    note: str
    picture: Picture | None
    not_drawn: str

    @property
    def key(self) -> str:
        return self.tables[0].key


@dataclass(frozen=True)
class Report:
    parts: list[_Part]
    pages: list[Page]  # beside the index, in its order
    tables: list[Table]
    pictures: list[Picture]

    @property
    def rows_commands(self) -> dict[str, list[str]]:
        """The tables that each command makes the rows of."""
        found: dict[str, list[str]] = {}
        for table in self.tables:
            if table.command:
                found.setdefault(table.command, []).append(table.key)
        return found


def _part(topic: ModuleType, inputs: Inputs, section: Section, page: Page) -> _Part:
    own = topic.own(inputs)
    ours = tuple(dict.fromkeys((inputs.source, *OURS))) if inputs.source in OURS else OURS
    beside = filter(None, (own.beside(among) for among in ((ARTICLE,), ours, THEIRS)))
    title = section.tables[0].title
    return _Part(page, title, list(beside), own.note(), section.picture, section.not_drawn)


def _wrong_page(found: wrong.Contradictions) -> Page:
    says = f"{number(len(found.found))} statements and figures, each beside what was found"
    title = wrong.table(found).title
    return Page("wrong", title, words.group("wrong"), says, "wrong", vars(found))


def _made_page(inputs: Inputs, rows_commands: dict[str, list[str]], out: Path) -> Page:
    about = {
        "provenance": captions.provenance(inputs),
        "commands": captions.commands(inputs, out),
        "rows_commands": rows_commands,
        "context": captions.context(inputs),
    }
    says = "drivers, versions, commits and commands"
    return Page("made", "How this was made", words.group("history"), says, "made", about)


def _index(inputs: Inputs, parts: list[_Part], pages: list[Page]) -> Page:
    """The article's tables, then the pages by their headings."""
    groups: dict[str, list[Page]] = {}
    for page in pages:
        if page.group:
            groups.setdefault(page.group, []).append(page)
    summary, near = captions.summary(inputs), share(NEAR, 0)
    about = {"parts": parts, "groups": groups, "summary": summary, "near": near}
    return Page("index", _TITLE, template="index", about=about)


def _report(inputs: Inputs) -> Report:
    topics_by_name = chapters()
    sections = {name: _section(topic, inputs) for name, topic in topics_by_name.items()}
    every = list(sections.values())
    parts, pages = [], []
    for name in _ARTICLE:
        section = sections.pop(name)
        own, *beside = section.tables
        title = f"{own.title.partition(':')[0]} by source and in detail"
        detailed = topic_pages(own.key, Section(beside), title=title)
        parts.append(_part(topics_by_name[name], inputs, section, detailed[0]))
        pages += detailed
    del sections[_IN_ONE]
    found = wrong.contradictions(inputs)
    pages.append(_wrong_page(found))
    for name, section in sections.items():
        if section.tables:
            pages += topic_pages(name, section, words.group(name))
    tables = [table for section in every for table in section.tables]
    pictures = [section.picture for section in every if section.picture]
    return Report(parts, pages, [*tables, wrong.table(found)], pictures)


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
        out.mkdir(parents=True, exist_ok=True)  # first: the report takes long
        forget(out)
    with _writing_history(inputs.history, out):
        report = _report(inputs)
        made = _made_page(inputs, report.rows_commands, out)
        history = [entry(inputs.history)] if inputs.history else []  # written meanwhile
        index = _index(inputs, report.parts, [*report.pages, *history, made])
        with writing():
            _write_pictures(report.pictures, out / "figures")
            write_fragments(report.tables, out / "fragments")
            write_pages([index, *report.pages, made], out)
    return out / index.file
