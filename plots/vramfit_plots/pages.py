"""The report's pages: what stands on each, and their files."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vramfit_plots.figures.picture import Picture
from vramfit_plots.tables import Table
from vramfit_plots.templates import FOLDER, environment

_OURS = '<meta name="generator" content="vramfit_plots">'  # in base.html.j2
_STYLE = "report.css"


@dataclass(frozen=True)
class Section:
    """Of a page: tables, the first beside the picture."""

    tables: Sequence[Table]
    picture: Picture | None = None
    not_drawn: str = ""  # why there is no picture; "" where none is meant


@dataclass(frozen=True)
class Page:
    name: str  # its file's, without .html
    title: str
    group: str = ""  # the index's heading that it is under; "": the index does not list it
    says: str = ""  # its finding
    template: str = "topic"
    about: Mapping[str, Any] = field(default_factory=dict)  # what the template is filled from

    @property
    def file(self) -> str:
        return f"{self.name}.html"


def topic_pages(name: str, section: Section, group: str = "", title: str = "") -> list[Page]:
    """A topic's page, and those of its long tables beside the first. The title is that of the first
    table, or another."""
    first = section.tables[0]
    says = section.picture.title if section.picture else ""
    about: dict[str, Any] = {"section": section}
    page = Page(name, title or first.title, group, says, about=about)
    long = [table for table in section.tables if table.long and table is not first]
    about["further"] = [long_page(table, page) for table in long]
    return [page, *about["further"]]


def long_page(table: Table, above: Page) -> Page:
    """A topic may have the name of one of its tables."""
    name = f"{table.key}_rows" if table.key == above.name else table.key
    return Page(name, table.title, template="long", about={"table": table, "above": above})


def forget(out: Path) -> None:
    """A page that this report does not have must not be an older one's."""
    for path in out.glob("*.html"):
        with path.open(encoding="utf-8", errors="replace") as file:
            ours = _OURS in file.read(1000)
        if ours:
            path.unlink()


def write_pages(pages: Sequence[Page], out: Path) -> None:
    templates = environment()
    shutil.copyfile(FOLDER / _STYLE, out / _STYLE)
    for page in pages:
        template = templates.get_template(f"{page.template}.html.j2")
        text = template.render(page=page, **page.about)
        (out / page.file).write_text(text, encoding="utf-8")
